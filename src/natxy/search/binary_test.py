# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy import errors
from natxy.search import outcome
from natxy.search.binary import BinarySearch, LongestSearch
from natxy.search.outcome import Attempt, Outcome, Sample

LIMITS = BinarySearch(min_rate=10, max_rate=1000, absolute_error=10)


def sample(outcome: Outcome) -> Sample:
    """Returns a trial of a gateway that loses little above its limit."""
    return Sample(outcome, 1000, 10 if outcome == Outcome.FAIL else 0)


class Dut:
    """Passes rates up to `truth` and records every attempt."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self.tried: list[Attempt] = []

    def __call__(self, attempt: Attempt) -> Sample:
        self.tried.append(attempt)
        return sample(Outcome.PASS if attempt.rate <= self.truth else Outcome.FAIL)


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

    def measure(attempt: Attempt) -> Sample:
        before = undecided[attempt.step - 1] if attempt.step <= len(undecided) else []
        return sample(before[attempt.number - 1]) if attempt.number <= len(before) else dut(attempt)

    assert LIMITS.run(measure) == LIMITS.run(Dut(truth))


@given(truth=st.floats(min_value=1, max_value=2000), limit=st.floats(min_value=10, max_value=2000))
def test_below_the_testers_limit_the_search_goes_on(truth: float, limit: float) -> None:
    dut = Dut(truth)

    def measure(attempt: Attempt) -> Sample:
        return sample(Outcome.INVALID) if attempt.rate > limit else dut(attempt)

    found = LIMITS.run(measure)
    assert found.rate <= truth
    if truth < min(limit, 1000) - 10:
        assert found.upper_bound is not None
        assert truth < found.upper_bound <= found.rate + 10 or found.upper_bound == 10
    elif found.upper_bound is None:
        # The gateway passes all that the tester sends.
        assert found.rate >= min(limit, truth, 1000) - 10
        assert found.unsent_rate is None or limit < found.unsent_rate <= found.rate + 10


def test_what_the_tester_could_not_send_is_tried_again_at_the_end() -> None:
    tried: list[Attempt] = []

    def measure(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return sample(Outcome.INVALID if attempt.rate > 600 else Outcome.PASS)

    found = LIMITS.run(measure)
    assert found.upper_bound is None
    assert found.unsent_rate == pytest.approx(600, abs=10)
    assert found.rate == pytest.approx(600, abs=10)
    assert found.rate <= 600
    assert [attempt.number for attempt in tried if attempt.rate == found.unsent_rate] == [1, 2, 3] * 2


@given(truth=st.floats(min_value=20, max_value=2000), spoilt=st.integers(1, 8))
def test_an_accident_of_the_tester_changes_nothing(truth: float, spoilt: int) -> None:
    dut = Dut(truth)

    def measure(attempt: Attempt) -> Sample:
        return sample(Outcome.INVALID) if attempt.step == spoilt else dut(attempt)

    found, usual = LIMITS.run(measure), LIMITS.run(Dut(truth))
    assert found.rate == pytest.approx(usual.rate, abs=10)
    assert (found.upper_bound is None) == (usual.upper_bound is None)
    assert found.unsent_rate is None or found.unsent_rate > truth


@pytest.mark.parametrize("undecided", [Outcome.INVALID, Outcome.INVALID_PREPARATION])
def test_a_tester_that_sends_nothing_is_no_result(undecided: Outcome) -> None:
    tried: list[Attempt] = []

    def measure(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return sample(undecided)

    with pytest.raises(outcome.TesterLimitReached, match="3 of 3 attempts at") as caught:
        LIMITS.run(measure)
    assert isinstance(caught.value, errors.TesterLimitError)
    assert (caught.value.attempts, caught.value.lower_bound, caught.value.upper_bound) == (3, None, None)
    # A preparation does not depend on the rate, so that a lower one is not tried.
    assert tried[-1].rate == (10 if undecided == Outcome.INVALID else 505)
    assert len(tried) == (3 if undecided == Outcome.INVALID_PREPARATION else 3 * tried[-1].step)


@given(undecided_below=st.floats(min_value=10, max_value=1000))
def test_a_failure_is_not_forgotten_where_the_tester_sends_no_lower_rate(undecided_below: float) -> None:
    tried: dict[float, Outcome] = {}

    def measure(attempt: Attempt) -> Sample:
        failed = Outcome.INVALID if attempt.rate <= undecided_below else Outcome.FAIL
        return sample(tried.setdefault(attempt.rate, failed))

    # The first rate is in the middle.
    if undecided_below >= 505:
        with pytest.raises(outcome.TesterLimitReached):
            LIMITS.run(measure)
        return
    found = LIMITS.run(measure)
    assert found.lower_bound is None
    assert found.upper_bound == min(rate for rate, each in tried.items() if each == Outcome.FAIL)
    assert found.unsent_rate == 10


@given(truth=st.floats(min_value=20, max_value=2000), ceiling=st.floats(min_value=1, max_value=2000))
def test_above_its_ceiling_a_search_goes_only_if_that_passes(truth: float, ceiling: float) -> None:
    dut = Dut(truth)
    found = replace(LIMITS, ceiling=ceiling).run(dut)
    if ceiling > 10 and truth < ceiling:
        assert max(attempt.rate for attempt in dut.tried) <= ceiling
    assert found.rate == pytest.approx(min(truth, 1000), abs=10)
    assert (found.upper_bound is None) == (truth >= 1000)


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


@pytest.mark.parametrize(
    ("search", "steps"),
    [
        (BinarySearch(10, 1000, absolute_error=10), 8),  # 990 / 10 is halved seven times, and a limit is tried
        (BinarySearch(100, 1100, relative_error=0.1), 6),  # 1000 / 60, the error in the middle, five times
        (BinarySearch(100, 110, absolute_error=10), 2),
        (BinarySearch(100, 120.001, absolute_error=10), 3),
    ],
)
def test_the_expected_steps_are_the_halvings_and_one_of_a_limit(search: BinarySearch, steps: int) -> None:
    assert search.expected_steps() == steps


def test_a_bracket_is_narrow_at_its_error_or_at_the_precision_of_numbers() -> None:
    absolute, relative = LIMITS, BinarySearch(10, 1000, relative_error=0.25)
    assert absolute.narrow(100, 110)
    assert not absolute.narrow(100, 110.001)
    assert relative.narrow(75, 100)
    assert not relative.narrow(74.999, 100)
    finest = BinarySearch(1, 2, absolute_error=1e-30)
    first, second, third = 1.0, math.nextafter(1.0, 2), math.nextafter(math.nextafter(1.0, 2), 2)
    # The middle is rounded to the number whose last bit is 0.
    assert finest.narrow(first, second)
    assert finest.narrow(second, third)
    assert not finest.narrow(first, third)


def test_a_rate_may_have_a_single_attempt() -> None:
    search = replace(LIMITS, max_invalid=1)
    tried: list[Attempt] = []

    def measure(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return sample(Outcome.UNPREPARED)

    assert search.run(Dut(300)) == LIMITS.run(Dut(300))
    with pytest.raises(outcome.NeverPrepared, match="1 of 1 attempts"):
        search.run(measure)
    assert [attempt.number for attempt in tried] == [1]


def test_an_error_below_what_floating_point_tells_apart_ends() -> None:
    result = BinarySearch(min_rate=1, max_rate=1e9, absolute_error=1e-12).run(Dut(123456.789))
    assert math.isclose(result.rate, 123456.789)


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(1, 1000), st.sampled_from([1, 2, 10, 1000]))
def test_the_truth_is_found_within_the_error_or_a_step(most: int, truth: int, error: int, step: int) -> None:
    tried: list[int] = []

    def passes(frames: int) -> Sample:
        assert step <= frames <= most * step
        assert frames % step == 0
        tried.append(frames)
        return sample(Outcome.PASS if frames <= truth else Outcome.FAIL)

    search = LongestSearch(most * step, error, step)
    passed, failed = search.run(passes)
    assert len(tried) == len(set(tried)) <= search.expected_steps() + 1
    assert passed <= truth
    if failed is None:
        assert passed == most * step <= truth
    else:
        assert truth < failed <= passed + max(error, step)


@pytest.mark.parametrize(("most", "error", "step", "steps"), [(1000, 1, 1, 10), (1000, 15, 10, 7), (1000, 25, 10, 6)])
def test_longest_numbers_are_multiples_of_the_step(most: int, error: int, step: int, steps: int) -> None:
    search = LongestSearch(most, error, step)
    tried: list[int] = []

    def passes(number: int) -> Sample:
        tried.append(number)
        return sample(Outcome.PASS if number <= 444 else Outcome.FAIL)

    passed, failed = search.run(passes)
    assert failed is not None
    assert passed <= 444 < failed <= passed + max(error, step)
    assert {number % step for number in tried} == {0}
    assert search.expected_steps() == steps
