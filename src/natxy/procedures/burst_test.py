# SPDX-License-Identifier: Apache-2.0
"""Tests the trials of bursts; `recovery_test.py` measures whole searches in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.messages.requests import TrialRequest
from natxy.plan.resolve import resolve
from natxy.procedures.burst import _bursts
from natxy.procedures.common.traffic_test import figures, measure, plan_of


def request(burst: int, rate_fps: float, trial_s: float, **own: Any) -> TrialRequest:
    given = {"name": "b", "procedure": {"name": "burst", "frames": burst}, "search": {"max_rate": "1M"}} | own
    [experiment] = resolve(plan_of(given, timing={"preset": "lab", "trial": trial_s})).experiments
    return _bursts(experiment, burst, rate_fps, seed=1)


@pytest.mark.parametrize(
    ("rate_fps", "frames"),
    [
        (1000, 960),  # 1000 frames hold 15 whole bursts of 64
        (1023, 960),
        (1024, 1024),
        (10, 128),  # one burst has no gap
        (191, 128),
        (192, 192),
    ],
)
def test_a_trial_has_whole_bursts_and_at_least_two(rate_fps: float, frames: int) -> None:
    streams = request(64, rate_fps, 1.0).streams
    assert [(stream.frames, stream.burst, stream.rate_fps) for stream in streams] == [(frames, 64, rate_fps)] * 2


def test_a_trial_lasts_as_long_as_its_timing_says() -> None:
    assert {stream.frames for stream in request(64, 1000, 4.0).streams} == {62 * 64}


def test_the_gap_is_that_of_the_rate_that_was_found() -> None:
    own = {"name": "b", "procedure": {"name": "burst", "frames": 10}, "search": {"max_rate": 10_000, "error": 100}}
    found = figures(measure(own, forwarding_fps=8000, buffer_frames=20), "b")
    assert found["rate"] == pytest.approx(4000, rel=0.05)
    assert found["gap"] == pytest.approx(1e9 * 10 / (found["rate"] or 1))
    none = figures(measure(own, forwarding_fps=8000, buffer_frames=10), "b")
    assert (none["rate"], none["gap"]) == (0, None)


@pytest.mark.parametrize(
    ("burst", "rate_fps", "frames"),
    [
        (4, 1, 20),  # a turn of 10 frames and bursts of 4 end together after 20, with five bursts
        (4, 59, 40),
        (4, 60, 60),
        (15, 1, 30),
        (30, 1, 60),
    ],
)
def test_bursts_with_background_traffic_make_up_whole_turns(burst: int, rate_fps: float, frames: int) -> None:
    streams = request(burst, rate_fps, 1.0, background="10%", directions="forward").streams
    assert [(stream.name, stream.frames, stream.burst) for stream in streams] == [
        ("forward", frames * 9 // 10, burst), ("forward background", frames // 10, 1),
    ]  # fmt: skip
