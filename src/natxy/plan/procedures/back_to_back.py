# SPDX-License-Identifier: Apache-2.0
"""Back-to-back frames (RFC 2544 §26.4, RFC 9004)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Count, Unit, times
from natxy.plan.procedures.base import Figure
from natxy.plan.procedures.maximum_rate import MaximumRate
from natxy.plan.procedures.rates import below_line, off_throughput

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

# RFC 2544 §26.4.
LONGEST_BURST_S: Final = 2.0
LEAST_REPEAT: Final = 50


class BackToBackConfig(MaximumRate):
    name: Literal["back-to-back"] = "back-to-back"
    longest_burst: Annotated[Count, Unit.FRAMES] | None = Field(
        default=None, description="frames per direction of the longest burst tried; 2 s at the maximum rate"
    )
    error: Annotated[Count, Unit.FRAMES] = Field(
        default=1, description="in frames: how narrow the search has to become"
    )
    loss_verification: Annotated[int, Field(ge=0, le=100)] = Field(
        default=2, description="how often a burst that lost frames is sent again; it passes when one loses nothing"
    )

    summary: ClassVar = "the longest burst at the maximum rate that loses nothing (RFC 2544 §26.4, RFC 9004)"
    figures: ClassVar = (
        Figure("burst", "Back-to-back frames", Unit.FRAMES),
        Figure("implied_buffer", "Implied buffer time", Unit.SECONDS, with_headline=1),
        Figure("corrected_buffer", "Corrected buffer time", Unit.SECONDS, with_headline=1, with_rate=-1),
    )
    step_unit: ClassVar = Unit.FRAMES
    stateful: ClassVar = False
    rate_title: ClassVar = "Throughput"
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "background"})
    timed: ClassVar = False
    reports_mean: ClassVar = True

    @property
    def longest_frames(self) -> int:
        return self.longest_burst or math.ceil(LONGEST_BURST_S * self.maximum_fps)

    def traffic_s(self, trial_s: float) -> float:
        """Of the longest burst."""
        return self.longest_frames / self.maximum_fps

    def deviations(self, experiment: Experiment) -> list[str]:
        return [
            *off_throughput(experiment, "The buffer time of back-to-back frames is corrected by", "RFC 9004 §6.4"),
            *below_line(experiment, self.maximum_rate, "Back-to-back frames are sent at", "RFC 2544 §26.4"),
        ]

    def repeat_deviations(self, repeat: int) -> list[str]:
        if repeat >= LEAST_REPEAT:
            return []
        asked = f"RFC 2544 §26.4 asks for at least {LEAST_REPEAT} times"
        return [f"Back-to-back frames are measured {times(repeat)}; {asked}."]
