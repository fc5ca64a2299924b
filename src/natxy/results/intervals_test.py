# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.intervals import Interval, median_interval, shift_interval, student

Values = numpy.ndarray
Draw = Callable[[numpy.random.Generator, int], Values]

# Each has the median 1. The skewed ones are those of rates with a few bad repetitions, and of delays.
SAMPLES: dict[str, Draw] = {
    "normal": lambda random, count: 1 + random.standard_normal(count) * 0.1,
    "skewed": lambda random, count: numpy.exp(random.standard_normal(count) * 0.4),
}

rates = st.lists(st.floats(min_value=1, max_value=1e7), min_size=2, max_size=40)
resolutions = st.floats(min_value=0, max_value=1e5)


def test_intervals_of_exact_values_are_no_wider_than_their_spread() -> None:
    assert median_interval([5.0] * 8) == Interval(5, 5)
    assert shift_interval([5.0] * 8, [7.0] * 8) == Interval(2, 2)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("count", range(2, 21))
def test_19_of_20_intervals_have_the_true_median(kind: str, count: int) -> None:
    random = numpy.random.default_rng(count)
    found = [median_interval([*SAMPLES[kind](random, count)]) for _ in range(600)]
    covered = sum(interval is not None and 1 in interval for interval in found)
    assert covered / 600 >= (0.93 if kind == "normal" else 0.90)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize(("count", "other"), [(2, 2), (2, 8), (3, 3), (3, 20), (4, 4), (5, 5), (10, 7), (20, 20)])
def test_19_of_20_intervals_have_the_true_shift(kind: str, count: int, other: int) -> None:
    random = numpy.random.default_rng(count)
    draw = SAMPLES[kind]
    found = [shift_interval([*draw(random, count)], [*(3 + draw(random, other))]) for _ in range(600)]
    assert sum(interval is not None and 3 in interval for interval in found) / 600 >= 0.93


@pytest.mark.parametrize("noise", [0, 0.1, 0.3, 1, 3])
@pytest.mark.parametrize("count", [3, 10])
def test_19_of_20_shifts_are_covered_although_searches_round_to_a_grid(noise: float, count: int) -> None:
    random = numpy.random.default_rng(count)
    covered = 0
    for shift in random.uniform(0, 3, 400):
        truth = 100 + random.uniform() + noise * random.standard_normal((2, count))
        first, other = numpy.floor(truth[0]), numpy.floor((truth[1] + shift) / 1.5) * 1.5
        interval = shift_interval([*first], [*other], 1, 1.5)
        covered += interval is not None and shift in interval
    assert covered / 400 >= 0.93


@pytest.mark.parametrize(("least", "expected"), [(6, 0.93), (3, 0.90)])
def test_repetitions_that_end_at_a_narrow_interval_cover_the_truth_less_often(least: int, expected: float) -> None:
    """Checks the shares that docs/reference/plan-search.md gives for `repeat: {until: 3%, at_most: 30}`."""
    random = numpy.random.default_rng(least)
    covered = 0
    interval: Interval | None = None
    for _ in range(1500):
        values = [*(1 + 0.05 * random.standard_normal(30))]
        for count in range(least, 31):
            interval = median_interval(values[:count])
            assert interval is not None
            if interval.high - interval.low <= 2 * 0.03 * statistics.median(values[:count]):
                break
        covered += interval is not None and 1 in interval
    assert covered / 1500 == pytest.approx(expected, abs=0.02)


@given(rates, resolutions)
def test_an_interval_has_the_median_and_a_search_widens_it_upwards(values: list[float], resolution: float) -> None:
    exact, searched = median_interval(values), median_interval(values, resolution)
    assert exact is not None
    assert searched == Interval(exact.low, exact.high + resolution)
    assert statistics.median(values) in exact


@given(rates, rates, resolutions, resolutions)
def test_a_shift_has_the_difference_of_the_medians_and_its_brackets(
    first: list[float], other: list[float], wide: float, wider: float
) -> None:
    shift = statistics.median(other) - statistics.median(first)
    interval = shift_interval(first, other, wide, wider)
    assert interval is not None
    assert {shift, shift - wide, shift + wider} == {
        each for each in (shift, shift - wide, shift + wider) if each in interval
    }


@given(rates, rates)
def test_a_shift_is_as_far_the_other_way(first: list[float], other: list[float]) -> None:
    forth, back = shift_interval(first, other), shift_interval(other, first)
    assert forth is not None
    assert back is not None
    assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))


def test_equal_values_leave_only_the_resolution() -> None:
    for count in (2, 5, 6, 20, 60, 1200):
        assert median_interval([7.0] * count) == Interval(7, 7)
        assert median_interval([7.0] * count, 0.5) == Interval(7, 7.5)
        assert shift_interval([7.0] * count, [8.0] * count) == Interval(1, 1)
        assert shift_interval([7.0] * count, [8.0] * count, 2, 1) == Interval(-1, 2)


def test_one_value_has_no_interval() -> None:
    assert median_interval([]) is None
    assert median_interval([1.0]) is None
    assert shift_interval([1.0], [1.0, 2.0]) is None
    assert shift_interval([1.0, 2.0], [1.0]) is None


def test_the_textbooks_ranks() -> None:
    # Hollander and Wolfe, table A.4: P(T+ >= 40) = 0.0195 and P(T+ >= 39) = 0.0273 with 9 values, so that the 6th
    # lowest and the 6th highest Walsh average are the ends.
    values = [float(2**exponent) for exponent in range(9)]
    walsh = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    assert median_interval(values) == Interval(walsh[5], walsh[-6])
    # Mann and Whitney, 1947, table I: P(U <= 2) = 0.016 and P(U <= 3) = 0.028 with 5 values each.
    differences = sorted(b - a for a in values[:5] for b in values[4:])
    assert shift_interval(values[:5], values[4:]) == Interval(differences[2], differences[-3])


def test_large_groups_have_nearly_the_exact_ranks() -> None:
    random = numpy.random.default_rng(1)
    for count in (50, 51, 400, 1001):
        interval = median_interval([*random.standard_normal(count)])
        assert interval is not None
        assert interval.high - interval.low == pytest.approx(2 * 1.96 / count**0.5, rel=0.25)
        shift = shift_interval([*random.standard_normal(count)], [*random.standard_normal(count)])
        assert shift is not None
        assert shift.high - shift.low == pytest.approx(2 * 1.96 * (2 / count) ** 0.5, rel=0.25)


@pytest.mark.parametrize("count", [6, 7, 10, 25, 50])
def test_an_interval_has_the_medians_that_the_exact_test_of_signed_ranks_accepts(count: int) -> None:
    values = numpy.random.default_rng(count).standard_normal(count)
    interval = median_interval([*values])
    assert interval is not None
    for end, inside in ((interval.low, 1e-9), (interval.high, -1e-9)):
        assert scipy.stats.wilcoxon(values - end - inside, method="exact").pvalue > 0.05
        assert scipy.stats.wilcoxon(values - end + inside, method="exact").pvalue <= 0.05


@pytest.mark.parametrize(("fewer", "more"), [(3, 5), (4, 4), (5, 5), (7, 12), (20, 50)])
def test_an_interval_has_the_shifts_that_the_exact_test_of_mann_and_whitney_accepts(fewer: int, more: int) -> None:
    random = numpy.random.default_rng(fewer)
    first, other = random.standard_normal(fewer), random.standard_normal(more)
    interval = shift_interval([*first], [*other])
    assert interval is not None
    for end, inside in ((interval.low, 1e-9), (interval.high, -1e-9)):
        assert scipy.stats.mannwhitneyu(other - end - inside, first, method="exact").pvalue > 0.05
        assert scipy.stats.mannwhitneyu(other - end + inside, first, method="exact").pvalue <= 0.05


@pytest.mark.parametrize("count", [51, 1000])
def test_ranks_of_many_values_are_those_of_the_normal_distribution(count: int) -> None:
    random = numpy.random.default_rng(count)
    first, other = random.standard_normal(count), random.standard_normal(51)
    interval, shift = median_interval([*first]), shift_interval([*first], [*other])
    assert interval is not None
    assert shift is not None
    walsh = numpy.sort([(a + b) / 2 for i, a in enumerate(first) for b in first[i:]])
    below = int(numpy.searchsorted(walsh, interval.low))
    assert below == int(numpy.searchsorted(-walsh[::-1], -interval.high))
    # Tables give the rank to the nearest; one rank more to be safe is allowed.
    pairs = count * (count + 1) / 2
    nearest = pairs / 2 - 1.96 * (pairs * (2 * count + 1) / 12) ** 0.5
    assert nearest - 2 <= below <= nearest
    differences = numpy.sort(numpy.subtract.outer(other, first).ravel())
    below = int(numpy.searchsorted(differences, shift.low))
    pairs = count * 51
    assert below == pytest.approx(pairs / 2 - 1.96 * (pairs * (count + 51 + 1) / 12) ** 0.5, abs=2)


@pytest.mark.parametrize("count", [3, 5, 1001])
def test_values_too_few_or_too_many_for_ranks_have_students_interval(count: int) -> None:
    values = numpy.random.default_rng(count).standard_normal(count)
    interval = median_interval([*values])
    assert interval is not None
    ends = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))


@given(st.floats(1, 1e6))
def test_students_quantile_is_that_of_scipy(freedom: float) -> None:
    assert student(freedom) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=1e-12)


@pytest.mark.parametrize(("count", "more"), [(2, 3), (3, 4), (3, 1001)])
def test_groups_too_few_or_too_many_for_ranks_have_welchs_interval(count: int, more: int) -> None:
    random = numpy.random.default_rng(count)
    first, other = random.standard_normal(count), 3 + 2 * random.standard_normal(more)
    interval = shift_interval([*first], [*other])
    assert interval is not None
    ends = scipy.stats.ttest_ind(other, first, equal_var=False).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))
