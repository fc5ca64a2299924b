# SPDX-License-Identifier: Apache-2.0
"""System recovery (RFC 2544 §26.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Duration, Unit, format_duration
from natxy.plan.procedures.base import Figure
from natxy.plan.procedures.maximum_rate import MaximumRate
from natxy.plan.procedures.per_direction import per_direction
from natxy.plan.procedures.rates import below_line, off_throughput

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

# RFC 2544 §26.5.
OVERLOAD_SHARE: Final = 1.1
LEAST_OVERLOAD_S: Final = 60.0


class SystemRecoveryConfig(MaximumRate):
    name: Literal["system-recovery"] = "system-recovery"
    recovery: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="how long traffic goes on at half the rate; the timing's `trial`"
    )

    summary: ClassVar = "from the end of an overload to the last frame lost (RFC 2544 §26.5)"
    figures: ClassVar = (
        Figure("recovery", "Recovery time, the slower direction", Unit.SECONDS),
        *per_direction("recovery", "Recovery time", Unit.SECONDS),
        *per_direction("overload_loss", "Frame loss in the overload", Unit.PERCENT),
    )
    step_unit: ClassVar = Unit.FPS
    stateful: ClassVar = False
    rate_title: ClassVar = "Throughput"
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "background"})
    needs_maximum_rate: ClassVar = False

    def overload_fps(self, throughput_fps: float) -> float:
        rate_fps = OVERLOAD_SHARE * throughput_fps
        return rate_fps if self.maximum_rate is None else min(rate_fps, self.maximum_rate)

    def recovery_s(self, trial_s: float) -> float:
        return trial_s if self.recovery is None else self.recovery

    def traffic_s(self, trial_s: float) -> float:
        """The overload lasts as long as the timing's `trial` says."""
        return trial_s + self.recovery_s(trial_s)

    def deviations(self, experiment: Experiment) -> list[str]:
        trial_s, source = experiment.timing.trial, "RFC 2544 §26.5"
        sentences = [
            *off_throughput(experiment, "System recovery is measured around", source),
            *below_line(experiment, self.maximum_rate, "The overload before a system recovery is limited to", source),
        ]
        if trial_s < LEAST_OVERLOAD_S:
            asked = f"{source} asks for at least {format_duration(LEAST_OVERLOAD_S)}"
            sentences.append(f"The overload before a system recovery lasts {format_duration(trial_s)}; {asked}.")
        return sentences
