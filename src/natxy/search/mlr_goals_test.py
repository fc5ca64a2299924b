# SPDX-License-Identifier: Apache-2.0
"""Tests searches with a second goal, which allows some loss."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.search.mlr import TrialDurations
from natxy.search.mlr_test import ERROR, FAST, STRICT, Dut, search_with
from natxy.search.outcome import Attempt, Outcome, Sample


@pytest.mark.parametrize("durations", [STRICT, FAST, None])
@settings(max_examples=60, deadline=None)
@given(
    truth=st.floats(min_value=2e3, max_value=9e5),
    partial=st.floats(min_value=1e-3, max_value=0.05),
)
def test_one_search_meets_two_goals(durations: TrialDurations | None, truth: float, partial: float) -> None:
    dut = Dut(truth)
    found = replace(search_with(durations), partial_loss_ratio=partial).run(dut)
    assert found.lower_bound is not None
    assert found.partial_lower_bound is not None
    assert found.lower_bound <= truth <= found.lower_bound / (1 - ERROR) * (1 + 1e-6)
    # An overloaded gateway loses 1 − truth / rate.
    allowed = min(truth / (1 - partial), 1e6)
    # Lost are whole frames.
    one_frame = 1 / (found.partial_lower_bound * (1 if durations is None else 60))
    assert found.partial_lower_bound <= allowed * (1 + 1e-6 + one_frame)
    assert found.partial_lower_bound >= allowed * (1 - ERROR) * (1 - 1e-6 - 2 * one_frame)


def test_a_second_goal_takes_few_more_trials() -> None:
    alone, both = Dut(123_456), Dut(123_456)
    search_with(STRICT).run(alone)
    replace(search_with(STRICT), partial_loss_ratio=0.005).run(both)
    second = Dut(123_456)
    replace(search_with(STRICT), loss_ratio=0.005).run(second)
    assert len(both.tried) < len(alone.tried) + len(second.tried)


def test_a_rate_with_a_partial_loss_is_not_the_highest_below_what_the_tester_sends() -> None:
    """The tester sends no more than 790 k, the gateway loses 0.1 % from 300 k on, and much from 600 k on."""

    def measure(attempt: Attempt) -> Sample:
        frames = round(attempt.rate * 60)
        if attempt.rate > 790e3:
            return Sample(Outcome.INVALID, frames, 0)
        lost = 0.2 if attempt.rate > 600e3 else 0.001 if attempt.rate > 300e3 else 0.0
        return Sample(Outcome.FAIL if lost else Outcome.PASS, frames, round(lost * frames))

    found = replace(search_with(STRICT), partial_loss_ratio=0.005).run(measure)
    assert found.lower_bound == pytest.approx(300e3, rel=ERROR)
    assert found.partial_lower_bound == pytest.approx(600e3, rel=ERROR)
    assert found.partial_upper_bound is not None


def test_only_a_loss_is_allowed_by_the_second_goal() -> None:
    def misrouting(attempt: Attempt) -> Sample:
        """Loses nothing above its limit, but fails."""
        frames = round(attempt.rate * 60)
        failed = attempt.rate > 50e3
        return Sample(Outcome.FAIL if failed else Outcome.PASS, frames, 0, by_loss=False)

    found = replace(search_with(STRICT), partial_loss_ratio=0.005).run(misrouting)
    assert found.partial_lower_bound == found.lower_bound
