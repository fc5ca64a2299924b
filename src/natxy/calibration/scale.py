# SPDX-License-Identifier: Apache-2.0
"""Defines the scale of a calibration: the rates and lengths of its trials, and the tolerances that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from natxy.plan.model.timing import LAB_TIMING
from natxy.plan.model.units import Unit, format_duration, format_quantity

# The longest pause of the tester's core that is usual on a shared machine. The gateway's buffer holds the burst that
# follows it.
MAX_PAUSE_S: Final = 0.005
_SPARE_FRAMES: Final = 64


@dataclass(frozen=True)
class Scale:
    """Holds the rates and lengths of trials.

    `rate_fps` is the rate that the gateway forwards, per direction. Connections are established at half of it, and
    delays measured at a fifth. A search ends with an interval of `width`, a share of the truth. `high_fps` is the rate
    of a second gateway, for errors that occur only at high rates: with full bursts, full rings and wide windows.
    """

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
        """The length of a trial that any pause of a core invalidates. The shorter it is, the likelier it has none."""
        return self.trial_s / 4

    @property
    def connections_cps(self) -> float:
        return self.rate_fps / 2

    @property
    def late_s(self) -> float:
        """The greatest lateness of the last frame of a valid trial."""
        return LAB_TIMING.overrun_floor

    @property
    def error_fps(self) -> float:
        return self.rate_fps * self.width

    def buffer(self, rate_fps: float) -> int:
        """Returns a buffer for the frames that follow the longest pause of a valid trial at twice the rate, and some
        more."""
        return _SPARE_FRAMES + round(2 * rate_fps * MAX_PAUSE_S)

    def search(self, rate_fps: float) -> dict[str, Any]:
        """Returns the settings of a search around `rate_fps`, which is not the middle of its bounds.

        One trial decides on a rate: the gateway's limits are exact, and its pauses make a trial invalid.
        """
        return {"kind": "binary", "min_rate": 0.3 * rate_fps, "max_rate": 2 * rate_fps, "error": rate_fps * self.width}

    def why_rate(self, unit: Unit, width: float) -> str:
        """Returns the reason for the tolerance of a rate."""
        late = format_duration(self.late_s)
        return f"the search ends within {format_quantity(width, unit)}; the last frame may be {late} late"
