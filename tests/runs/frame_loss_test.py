# SPDX-License-Identifier: Apache-2.0
"""Measures the frame loss rate of a gateway that limits the rate to a known value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import TesterLimitError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from tests.support import needs

pytestmark = needs.LAB

MAXIMUM_FPS = 33_333
# A little above 60 % of the maximum, so that 60 % passes without loss. Frames that waited for a core arrive as a burst.
LIMIT_FPS = 20_400
BURST_FRAMES = 400
TRIAL_S = 0.5
# A busy machine adds losses, and takes none away: the least of many is the gateway's.
MOST_RUNS = 5
# A gateway that shares its core loses frames elsewhere too.
TOLERANCE_PERCENT = 5

LIMITER: dict[str, Any] = {
    "driver": "command",
    "apply": [
        ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
        ["nft", "add table ip limiter"],
        ["nft", "add chain ip limiter through { type filter hook forward priority 0; }"],
        [
            "nft",
            f"add rule ip limiter through limit rate over {LIMIT_FPS}/second burst {BURST_FRAMES} packets counter drop",
        ],
    ],
    "remove": [["nft", "add table ip limiter; delete table ip limiter"]],
}


def test_a_limiters_curve_is_found(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    timing = {"preset": "lab", "trial": TRIAL_S, "max_pause": "20ms", "overrun_floor": "20ms"}
    experiment = {
        "name": "loss",
        "gateway": LIMITER,
        "procedure": {"name": "frame-loss-rate", "maximum_rate": MAXIMUM_FPS},
        "directions": "forward",
        "max_invalid": 20,
    }
    plan = {"name": "p", "repeat": 3, "timing": timing, "experiments": [experiment]}
    passed_fps = LIMIT_FPS + BURST_FRAMES / TRIAL_S
    found: dict[float, float] = {}
    for run in range(MOST_RUNS):
        code = run_plan(resolve(Plan.model_validate(plan)), tmp_path / str(run), RunListener())
        # A machine that is busy for long disturbs every attempt at a rate.
        assert code in (0, TesterLimitError.exit_code)
        repetitions = RunReader(tmp_path / str(run)).run.experiments[0].repetitions
        # A curve ends after two rates without loss.
        points = [point for each in repetitions for curve in each.curves for point in curve.points]
        for percent, lost in points:
            found[percent] = min(lost, found.get(percent, lost))
        expected = {percent: max(0.0, 100 - 100 * passed_fps / (MAXIMUM_FPS * percent / 100)) for percent in found}
        # No curve is below the limiter's, however busy the machine is.
        assert all(lost > expected[percent] - TOLERANCE_PERCENT for percent, lost in points)
        if found == pytest.approx(expected, abs=TOLERANCE_PERCENT):
            break
    assert len(found) >= 6
    assert found == pytest.approx(expected, abs=TOLERANCE_PERCENT)
    record_property("lost, in % by load", ", ".join(f"{percent:.0f} %: {lost:.1f}" for percent, lost in found.items()))
