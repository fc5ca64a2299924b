# SPDX-License-Identifier: Apache-2.0
"""What the settings of every gateway have in common: facts that checks need before any machine is touched."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from natxy.plan.model.terms import TranslationKind


class GatewayModel(BaseModel):
    """`driver` is the word that a plan names the gateway with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    driver: str

    @property
    def keeps_connections(self) -> bool | None:
        """It needs connections, and through it only established ones have replies; None when it takes either."""
        return False

    @property
    def hides_left(self) -> bool:
        """It translates the left side's addresses to its own, so that these are private by default."""
        return False

    @property
    def clear_s(self) -> float:
        """About how long its table takes to be emptied, where that is longer than a moment."""
        return 0.0

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        """Between families, those it can be asked for; None is traffic of one family."""
        return frozenset({None})
