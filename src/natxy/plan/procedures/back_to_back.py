# SPDX-License-Identifier: Apache-2.0
"""Back-to-back frames (RFC 2544 §26.4, RFC 9004)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Count, Unit
from natxy.plan.procedures.base import MaximumRate
from natxy.plan.procedures.figures import Figure

# RFC 2544 §26.4.
LONGEST_BURST_S: Final = 2.0


class BackToBackConfig(MaximumRate):
    name: Literal["back-to-back"] = "back-to-back"
    longest_burst: Annotated[Count, Unit.FRAMES] | None = None
    """Longest burst to try, in frames per direction; default: 2 s at `maximum_rate`."""
    error: Annotated[Count, Unit.FRAMES] = 1
    """Frames between the last two bursts."""
    loss_verification: Annotated[int, Field(ge=0, le=100)] = 2
    """Times that a burst with loss is sent again, and may pass."""

    list_position: ClassVar = 310
    summary: ClassVar = "the longest burst at the maximum rate that loses nothing (RFC 2544 §26.4, RFC 9004)"
    figures: ClassVar = (
        Figure("burst", "Back-to-back frames", Unit.FRAMES),
        Figure("implied_buffer", "Implied buffer time", Unit.SECONDS, with_headline=1, more_is_better=True),
        Figure(
            "corrected_buffer",
            "Corrected buffer time",
            Unit.SECONDS,
            with_headline=1,
            with_rate=-1,
            more_is_better=True,
        ),
    )
    step_unit: ClassVar = Unit.FRAMES
    rate_title: ClassVar = "Throughput"
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "phase1_loss", "background"})
    timed: ClassVar = False
    reports_mean: ClassVar = True

    @property
    def longest_frames(self) -> int:
        return self.longest_burst or math.ceil(LONGEST_BURST_S * self.maximum_fps)

    def traffic_s(self, trial_s: float) -> float:
        """Returns the duration of the longest burst."""
        return self.longest_frames / self.maximum_fps
