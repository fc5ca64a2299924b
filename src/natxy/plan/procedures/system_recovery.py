# SPDX-License-Identifier: Apache-2.0
"""System recovery (RFC 2544 §26.5)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import MaximumRate
from natxy.plan.procedures.figures import Figure, per_direction

# RFC 2544 §26.5.
OVERLOAD_SHARE: Final = 1.1


class SystemRecoveryConfig(MaximumRate):
    name: Literal["system-recovery"] = "system-recovery"
    recovery: Annotated[Duration, Field(gt=0)] | None = None
    """Time at half the rate; default: the timing's `trial`."""

    list_position: ClassVar = 400
    summary: ClassVar = "from the end of an overload to the last frame lost (RFC 2544 §26.5)"
    figures: ClassVar = (
        Figure("recovery", "Recovery time, the slower direction", Unit.SECONDS),
        *per_direction("recovery", "Recovery time", Unit.SECONDS),
        *per_direction("overload_loss", "Frame loss in the overload", Unit.PERCENT),
    )
    rate_title: ClassVar = "Throughput"
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "phase1_loss", "background"})
    needs_maximum_rate: ClassVar = False
    expects_loss: ClassVar = True

    def overload_fps(self, throughput_fps: float) -> float:
        """Returns 110 % of the throughput, or the maximum rate if that is less."""
        rate_fps = OVERLOAD_SHARE * throughput_fps
        return rate_fps if self.maximum_rate is None else min(rate_fps, self.maximum_rate)

    def recovery_s(self, trial_s: float) -> float:
        return trial_s if self.recovery is None else self.recovery

    def traffic_s(self, trial_s: float) -> float:
        """Returns the duration of the overload, which is the timing's `trial`, and of the traffic at half the rate."""
        return trial_s + self.recovery_s(trial_s)
