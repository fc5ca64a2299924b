# SPDX-License-Identifier: Apache-2.0
"""Settings of map646."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import TranslationKind


class Map646Config(GatewayModel):
    """map646, a stateless translator in user space. No distribution packages it, so the user builds it."""

    driver: Literal["map646"] = "map646"
    program: str = Field(default="map646", description="path on the DUT, or name on its PATH")

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({TranslationKind.SIIT, TranslationKind.NAT46})
