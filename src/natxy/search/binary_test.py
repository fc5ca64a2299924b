# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy import errors
from natxy.search import outcome
from natxy.search.binary import BinarySearch, LongestSearch
from natxy.search.outcome import Attempt, Outcome

LIMITS = BinarySearch(min_rate=10, max_rate=1000, absolute_error=10)


class Dut:
    """Passes rates up to `truth` and records every attempt."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self.tried: list[Attempt] = []

    def __call__(self, attempt: Attempt) -> Outcome:
        self.tried.append(attempt)
        return Outcome.PASS if attempt.rate <= self.truth else Outcome.FAIL


@given(truth=st.floats(min_value=1e3, max_value=1e6), error=st.floats(min_value=0.5, max_value=1e5))
def test_finds_the_truth_within_an_absolute_error(truth: float, error: float) -> None:
    result = BinarySearch(min_rate=1e3, max_rate=1e6, absolute_error=error).run(Dut(truth))
    assert result.lower_bound is not None
    assert result.rate == result.lower_bound <= truth
    if result.upper_bound is not None:
        assert truth < result.upper_bound
        assert result.upper_bound - result.lower_bound <= error * (1 + 1e-9)
    else:
        assert truth == 1e6


@given(truth=st.floats(min_value=1e3, max_value=1e6), error=st.floats(min_value=1e-4, max_value=0.5))
def test_finds_the_truth_within_a_relative_error(truth: float, error: float) -> None:
    result = BinarySearch(min_rate=1e3, max_rate=1e6, relative_error=error).run(Dut(truth))
    assert result.rate <= truth <= (result.upper_bound or truth)
    assert truth - result.rate <= error * (result.upper_bound or truth) * (1 + 1e-9)


@given(st.floats(min_value=1, max_value=2000))
def test_never_tries_a_rate_outside_the_limits_nor_one_twice(truth: float) -> None:
    dut = Dut(truth)
    result = LIMITS.run(dut)
    rates = [attempt.rate for attempt in dut.tried]
    assert all(10 <= rate <= 1000 for rate in rates)
    assert len(rates) == len(set(rates)) == result.steps
    assert result.steps <= LIMITS.expected_steps() + 1


def test_a_dut_beyond_the_highest_rate_is_at_least_that() -> None:
    result = LIMITS.run(Dut(5000))
    assert (result.rate, result.lower_bound, result.upper_bound) == (1000, 1000, None)


def test_the_highest_rate_is_not_tried_before_the_search_points_there() -> None:
    dut = Dut(300)
    LIMITS.run(dut)
    assert max(attempt.rate for attempt in dut.tried) < 1000


def test_a_dut_that_passes_nothing_has_rate_0() -> None:
    result = LIMITS.run(Dut(5))
    assert (result.rate, result.lower_bound, result.upper_bound) == (0, None, 10)


def test_a_search_of_one_rate() -> None:
    search = BinarySearch(min_rate=100, max_rate=100, absolute_error=1)
    assert search.run(Dut(100)).rate == 100
    assert search.run(Dut(99)).rate == 0


UNDECIDED = st.lists(st.sampled_from([Outcome.INVALID, Outcome.UNPREPARED]), max_size=2)


@given(st.floats(min_value=20, max_value=900), st.lists(UNDECIDED, max_size=30))
def test_tries_that_decide_nothing_never_change_the_result(truth: float, undecided: list[list[Outcome]]) -> None:
    dut = Dut(truth)

    def measure(attempt: Attempt) -> Outcome:
        before = undecided[attempt.step - 1] if attempt.step <= len(undecided) else []
        return before[attempt.number - 1] if attempt.number <= len(before) else dut(attempt)

    assert LIMITS.run(measure) == LIMITS.run(Dut(truth))


def test_too_many_invalid_trials_are_the_testers_limit() -> None:
    attempts: list[Attempt] = []

    def measure(attempt: Attempt) -> Outcome:
        attempts.append(attempt)
        return Outcome.INVALID if attempt.rate > 600 else Outcome.PASS

    with pytest.raises(outcome.TesterLimitReached, match="3 of 3 attempts at 752") as caught:
        LIMITS.run(measure)
    assert isinstance(caught.value, errors.TesterLimitError)
    assert caught.value.attempts == 3
    assert (caught.value.lower_bound, caught.value.upper_bound) == (505, None)
    assert [attempt.number for attempt in attempts] == [1, 1, 2, 3]


@pytest.mark.parametrize(
    "settings",
    [
        {"min_rate": 10, "max_rate": 5, "absolute_error": 1},
        {"min_rate": 0, "max_rate": 5, "absolute_error": 1},
        {"min_rate": 1, "max_rate": 5},
        {"min_rate": 1, "max_rate": 5, "absolute_error": 1, "relative_error": 0.1},
        {"min_rate": 1, "max_rate": 5, "absolute_error": 0},
        {"min_rate": 1, "max_rate": 5, "absolute_error": 1, "max_invalid": 0},
    ],
)
def test_settings_that_make_no_search(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        BinarySearch(**settings)  # type: ignore[arg-type]


def test_an_error_below_what_floating_point_tells_apart_ends() -> None:
    result = BinarySearch(min_rate=1, max_rate=1e9, absolute_error=1e-12).run(Dut(123456.789))
    assert math.isclose(result.rate, 123456.789)


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(1, 1000), st.sampled_from([1, 2, 10, 1000]))
def test_the_truth_is_found_within_the_error_or_a_step(most: int, truth: int, error: int, step: int) -> None:
    tried: list[int] = []

    def passes(frames: int) -> bool:
        assert step <= frames <= most * step
        assert frames % step == 0
        tried.append(frames)
        return frames <= truth

    search = LongestSearch(most * step, error, step)
    passed, failed = search.run(passes)
    assert len(tried) == len(set(tried)) <= search.expected_steps() + 1
    assert passed <= truth
    if failed is None:
        assert passed == most * step <= truth
    else:
        assert truth < failed <= passed + max(error, step)
