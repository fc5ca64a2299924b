# SPDX-License-Identifier: Apache-2.0
"""How fast and how long the trials of a calibration are; what of its tolerances follows from that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from natxy.plan.model.timing import LAB_TIMING
from natxy.plan.model.units import Unit, format_duration, format_quantity

# Of the tester's core, on a machine that is not left alone: the gateway takes the bursts that follow without loss.
MAX_PAUSE_S: Final = 0.005
_SPARE_FRAMES: Final = 64


@dataclass(frozen=True)
class Scale:
    """`rate_fps`: what the gateway forwards, per direction; connections are set up at half of it, and delays measured
    at a fifth. `width`: of a search when it ends, as a share of the truth. `high_fps`: the rate of another gateway, for
    errors that begin at high rates: full bursts, full rings, wide windows."""

    rate_fps: float
    trial_s: float = LAB_TIMING.trial
    connections: int = 20_000
    width: float = 1 / 200
    high_fps: float | None = None

    @property
    def high(self) -> Scale | None:
        return replace(self, rate_fps=self.high_fps, high_fps=None) if self.high_fps else None

    @property
    def delays_fps(self) -> float:
        return self.rate_fps / 5

    @property
    def moment_s(self) -> float:
        """Of trials that any pause of a core spoils: the shorter, the likelier is one without."""
        return self.trial_s / 4

    @property
    def connections_cps(self) -> float:
        return self.rate_fps / 2

    @property
    def late_s(self) -> float:
        """How late the last frame of a valid trial may be."""
        return LAB_TIMING.overrun_floor

    @property
    def error_fps(self) -> float:
        return self.rate_fps * self.width

    def buffer(self, rate_fps: float) -> int:
        """Frames that come after the longest pause that a valid trial has, at twice the rate, and some more."""
        return _SPARE_FRAMES + round(2 * rate_fps * MAX_PAUSE_S)

    def search(self, rate_fps: float) -> dict[str, Any]:
        """Around `rate_fps`, which is not in its middle."""
        return {"min_rate": 0.3 * rate_fps, "max_rate": 2 * rate_fps, "error": rate_fps * self.width}

    def why_rate(self, unit: Unit, width: float) -> str:
        late = format_duration(self.late_s)
        return f"the search ends within {format_quantity(width, unit)}; the last frame may be {late} late"
