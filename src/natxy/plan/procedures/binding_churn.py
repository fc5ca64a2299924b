# SPDX-License-Identifier: Apache-2.0
"""The change of subscribers' bindings while traffic flows, at the core of softwires, or of MAP-T (RFC 7596 §6.1)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from pydantic import field_validator

from natxy.plan.model.units import Share, Unit
from natxy.plan.procedures.base import DuringTraffic
from natxy.plan.procedures.figures import Figure, per_direction


class BindingChurnConfig(DuringTraffic):
    name: Literal["binding-churn"] = "binding-churn"
    changed: Share = 0.25
    """Subscribers whose bindings are withdrawn, and as many whose bindings are added, as a share of all."""

    list_position: ClassVar = 550
    summary: ClassVar = "what a change of bindings costs old, new and unchanged subscribers (RFC 7596 §6.1)"
    figures: ClassVar = (
        Figure("unchanged_lost", "Frames of unchanged subscribers lost", Unit.FRAMES, more_is_better=False),
        Figure("change", "Time that the change took", Unit.SECONDS),
        Figure("bindings", "Bindings changed per second", Unit.BINDINGS_PER_S),
        *per_direction("old_passed", "Frames of old subscribers after the change", Unit.FRAMES, more_is_better=False),
        *per_direction("old_time", "Time to the last frame of an old subscriber", Unit.SECONDS),
        *per_direction(
            "new_lost", "Frames of new subscribers lost from the change on", Unit.FRAMES, more_is_better=False
        ),
        *per_direction("new_time", "Time to the first frame of a new subscriber", Unit.SECONDS),
        *per_direction("new_whole", "Time to the last frame that a new subscriber lost", Unit.SECONDS),
    )
    takes: ClassVar = frozenset({"rate", "directions", "loss_tolerance"})
    at_softwire: ClassVar = True
    changes_bindings: ClassVar = True
    expects_loss: ClassVar = True

    @field_validator("changed")
    @classmethod
    def _leaves_some(cls, given: float) -> float:
        if not 0 < given < 1 / 2:
            raise ValueError("expected a share above 0 % and below 50 %, so that some subscribers keep their bindings")
        return given

    def changed_of(self, addresses: int) -> int:
        """Returns how many of so many subscribers' addresses lose their bindings, and how many get some."""
        return max(1, math.floor(self.changed * addresses + 1e-9))
