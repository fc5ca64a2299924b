# SPDX-License-Identifier: Apache-2.0
"""Tests when two ways of measuring count as different, and the true results of the limits, by hand-made values."""

from __future__ import annotations

import math

import pytest

from tests.replay.limits import bucket_fps, budget, shaped_delay_s, shaped_fps
from tests.replay.replays import Compared, Verdict

KNOWN = {"frames/s": (3957.0, 3977.0)}


def compared(
    by_script: list[float], by_plan: list[float], known: dict[str, tuple[float, float]], tolerance: float = 5
) -> Compared:
    (name,) = known
    return Compared(known, tolerance, [{name: each} for each in by_script], [{name: each} for each in by_plan])


def test_ways_that_find_what_is_known_agree() -> None:
    assert not compared([3972], [3968.75], KNOWN).differences()
    assert not compared([3972, 3968, 3976], [3960, 3960, 3961], KNOWN).differences()


def test_ways_within_the_bounds_are_held_against_each_other() -> None:
    assert compared([3975], [3960], KNOWN).differences()
    assert compared([3975, 3976, 3977], [3960, 3960, 3961], KNOWN).differences()


@pytest.mark.parametrize("wild", [0, 1500, 4125, 1e9])
def test_a_wild_round_of_each_way_changes_nothing(wild: float) -> None:
    assert compared([3975, wild, 3976], [3960, 3961, wild], KNOWN).differences()
    assert not compared([3972, wild, 3973], [3968, 3969, wild], KNOWN).differences()
    unknown = {"Forward WCL, ms": (0.0, math.inf)}
    assert compared([6.0, wild, 6.3], [8.9, 9.1, wild], unknown, 0).differences()
    assert not compared([6.0, wild, 6.3], [6.2, 6.5, wild], unknown, 0).differences()


def test_of_three_rounds_two_wild_ones_agree_on_nothing_that_is_known() -> None:
    assert compared([3972, 1500, 1000], [3960, 3960, 3961], KNOWN).differences()


@pytest.mark.parametrize(("by_script", "by_plan"), [([2982.0], [3968.75]), ([3972.0], [1988.0]), ([1986.0], [1986.0])])
def test_a_way_that_finds_something_else_is_named(by_script: list[float], by_plan: list[float]) -> None:
    (difference,) = compared(by_script, by_plan, KNOWN).differences()
    assert difference == f"frames/s: by script {by_script}, by plan {by_plan}, known 3957 to 3977, tolerance 5"


def test_without_known_bounds_the_scatter_of_the_ways_decides() -> None:
    unknown = {"Forward TL, ms": (0.0, math.inf)}
    assert not compared([0.08, 0.10, 0.12], [0.13, 0.15, 0.18], unknown, 0).differences()
    assert compared([0.08, 0.10, 0.12], [0.33, 0.35, 0.38], unknown, 0).differences()


@pytest.mark.parametrize("rounds", [1, 2])
def test_few_rounds_without_known_bounds_decide_nothing(rounds: int) -> None:
    few = compared([1e6] * rounds, [0.01] * rounds, {"Forward TL, ms": (0.0, math.inf)})
    assert few.verdict("Forward TL, ms") is Verdict.TOO_FEW_ROUNDS
    assert not few.differences()


def test_one_round_shows_a_difference_and_no_agreement() -> None:
    for by_script, verdict in (
        ([3972.0], Verdict.ONE_ROUND),
        ([2982.0], Verdict.DIFFER),
        ([3972.0] * 2, Verdict.ONE_ROUND),
    ):
        assert compared(by_script, [3968.75], KNOWN).verdict("frames/s") is verdict
    assert compared([3972, 3972], [3968.75, 3968.75], KNOWN).verdict("frames/s") is Verdict.AGREE
    assert not compared([3972], [3968.75], KNOWN).differences()


def test_a_scan_that_ended_too_early_differs() -> None:
    ended = Compared({"% lost at 3000/s": (0.0, 0.05)}, 0.05, [{"% lost at 3000/s": 0.0}], [{}])
    assert len(ended.differences()) == 1


def test_a_round_more_may_show_that_the_first_was_disturbed() -> None:
    first, others = compared([3100], [3960], KNOWN), compared([3972, 3960], [3972, 3972], KNOWN)
    assert first.differences()
    assert not first.with_rounds(others).differences()


def test_what_a_limit_does_is_computed_frame_by_frame() -> None:
    rate_fps, burst, frames = 1000, 1000, 2000
    highest_fps = bucket_fps(frames, rate_fps, burst)
    assert _passes(frames, highest_fps - 2, rate_fps, burst)
    assert not _passes(frames, highest_fps + 2, rate_fps, burst)
    # 500 frames a second for a second and a half leave at 400, after the two that the shaper sends at once.
    assert shaped_delay_s(400, 500, 1.5) == pytest.approx((750 - 2) / 400 - 1.5)
    assert shaped_delay_s(400, 602, 1) == pytest.approx(0.5)
    assert shaped_fps(400, 0.5, 1) == pytest.approx(602)
    assert shaped_fps(400, shaped_delay_s(400, 500, 1.5), 1.5) == pytest.approx(500)
    ((_, rules),) = budget(100, {"dut-left": 84}).put_up
    assert "quota over 8000 bytes" in rules


def _passes(frames: int, offered_fps: float, rate_fps: float, burst: int) -> bool:
    tokens = float(burst)
    for _ in range(frames):
        if tokens < 1:
            return False
        tokens = min(burst, tokens - 1 + rate_fps / offered_fps)
    return True
