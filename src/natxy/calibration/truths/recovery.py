# SPDX-License-Identifier: Apache-2.0
"""Truths about recovery: after an overload, and after a reset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.calibration.case import Case, both_directions, within
from natxy.calibration.scale import MAX_PAUSE_S, Scale
from natxy.calibration.truths.rates import limited
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.system_recovery import OVERLOAD_SHARE

RECOVERY_S: Final = 0.1
WHY_PAUSE: Final = f"the tester's core may pause for {format_duration(MAX_PAUSE_S)}"


def system_recovery(scale: Scale) -> Iterator[Case]:
    """Recovery begins when the buffer is empty again, some time after the rate was halved."""
    rate_fps, buffer = scale.rate_fps, scale.buffer(scale.rate_fps)
    overload_fps = OVERLOAD_SHARE * rate_fps
    recovery_s = RECOVERY_S + buffer / (rate_fps - overload_fps / 2)
    frames = overload_fps * scale.trial_s
    late = format_duration(scale.late_s)
    lost = within(
        100 * (1 - (rate_fps * scale.trial_s + buffer) / frames),
        100 * (rate_fps * scale.late_s + 1) / frames,
        f"the last frame may be {late} late",
    )
    time_s = within(recovery_s, MAX_PAUSE_S + 3 / overload_fps, WHY_PAUSE)
    yield Case(
        "system-recovery", "System recovery", limited(scale, recovery_time=RECOVERY_S),
        {"procedure": "system-recovery", "rate": rate_fps},
        {"recovery": time_s}
        | both_directions("recovery", time_s, time_s)
        | both_directions("overload_loss", lost, lost),
    )  # fmt: skip


def reset(scale: Scale) -> Iterator[Case]:
    time_s = within(RECOVERY_S, MAX_PAUSE_S + 2 / scale.delays_fps, WHY_PAUSE)
    methods = ("loss", "timestamps")
    directions = {name: time_s for each in methods for name in (each, f"{each}_forward", f"{each}_reverse")}
    yield Case(
        "reset",
        "Reset",
        {"restart_time": RECOVERY_S},
        {"procedure": {"name": "reset", "recovery": 10 * RECOVERY_S}, "rate": scale.delays_fps},
        directions,
    )
