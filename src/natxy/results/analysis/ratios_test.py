# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.analysis.ratios import (
    Ratio,
    _half_width,
    paired_ratio,
    paired_ratios,
    precision,
    unpaired_ratio,
    unpaired_ratios,
)
from natxy.results.bounded import Bound
from natxy.results.intervals import Interval
from natxy.results.statistics import Headline

rates = st.floats(1, 1e9)


def exact(*values: float) -> dict[int, Headline]:
    return {number: Headline(value) for number, value in enumerate(values, start=1)}


@given(st.lists(st.tuples(rates, rates), min_size=1, max_size=12))
def test_a_paired_ratio_is_the_median_of_those_of_the_blocks(pairs: list[tuple[float, float]]) -> None:
    own, other = exact(*(mine for mine, _ in pairs)), exact(*(base for _, base in pairs))
    found = paired_ratio(own, other)
    assert found is not None
    assert found.value == pytest.approx(statistics.median(mine / base for mine, base in pairs))
    assert (found.interval is None) == (len(pairs) == 1)
    if found.interval:
        assert found.interval.low > 0
        assert found.value in found.interval


@given(rates, rates, st.lists(st.floats(0.2, 1.0), min_size=3, max_size=10))
def test_what_slows_a_whole_block_cancels_out(own: float, other: float, speeds: list[float]) -> None:
    found = paired_ratio(exact(*(own * speed for speed in speeds)), exact(*(other * speed for speed in speeds)))
    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(own / other)
    assert found.interval.high - found.interval.low < 1e-6 * found.value


@given(rates, rates, st.lists(st.tuples(st.floats(0.2, 1.0), st.floats(0.2, 1.0)), min_size=3, max_size=10))
def test_a_core_that_slows_within_a_block_cancels_out(
    own: float, other: float, speeds: list[tuple[float, float]]
) -> None:
    mine = {number: Headline(own * speed, core_speed_hz=2e6 * speed) for number, (speed, _) in enumerate(speeds)}
    base = {number: Headline(other * speed, core_speed_hz=2e6 * speed) for number, (_, speed) in enumerate(speeds)}
    found = paired_ratio(mine, base)
    assert found is not None
    assert found.at_equal_speed
    assert found.interval is not None
    assert found.value == pytest.approx(own / other)
    assert found.interval.high - found.interval.low < 1e-6 * found.value


def test_without_the_speed_of_one_repetition_all_ratios_are_as_measured() -> None:
    mine = {1: Headline(200, core_speed_hz=1e6), 2: Headline(100, core_speed_hz=5e5)}
    base = {1: Headline(400, core_speed_hz=1e6), 2: Headline(400)}
    found = paired_ratio(mine, base)
    assert found is not None
    assert not found.at_equal_speed
    assert found.value == pytest.approx(0.375)


def test_a_bound_stays_one_at_equal_speed() -> None:
    mine = {1: Headline(200, 200, core_speed_hz=1e6)}
    found = paired_ratio(mine, {1: Headline(400, 400, 400, core_speed_hz=5e5)})
    assert found is not None
    assert found.value == pytest.approx(0.25)
    assert found.bound == Bound.AT_LEAST


def test_drift_widens_only_the_unpaired_interval() -> None:
    noise = random.Random(1)
    speeds = [1.0, 0.9, 0.7, 0.95, 0.6, 0.8]
    own = exact(*(500 * speed * noise.uniform(0.99, 1.01) for speed in speeds))
    other = exact(*(1000 * speed * noise.uniform(0.99, 1.01) for speed in speeds))
    paired, unpaired = paired_ratio(own, other), unpaired_ratio(own, other)
    assert paired is not None
    assert unpaired is not None
    assert paired.interval is not None
    assert unpaired.interval is not None
    assert (paired.paired, unpaired.paired) == (True, False)
    assert paired.interval.high - paired.interval.low < 0.02 < unpaired.interval.high - unpaired.interval.low
    assert 0.5 in paired.interval
    assert 0.5 in unpaired.interval


def test_repetitions_that_only_one_has_are_left_out() -> None:
    own, other = (
        {1: Headline(50), 3: Headline(90), 4: Headline(10)},
        {1: Headline(100), 2: Headline(1), 3: Headline(100)},
    )
    found = paired_ratio(own, other)
    assert found is not None
    assert found.value == pytest.approx(0.7)
    assert paired_ratio({1: Headline(1)}, {2: Headline(1)}) is None


def test_an_interval_holds_all_that_the_brackets_allow() -> None:
    own, other = {n: Headline(50, 50, 60) for n in (1, 2, 3)}, {n: Headline(100, 100, 110) for n in (1, 2, 3)}
    for found in (paired_ratio(own, other), unpaired_ratio(own, other)):
        assert found is not None
        assert found.interval is not None
        assert found.value == 0.5
        assert found.interval.low <= 50 / 110 + 1e-9
        assert found.interval.high >= 60 / 100 - 1e-9
        assert found.interval.low > 0.4
        assert found.interval.high < 0.7
    paired = paired_ratios(own, other)
    assert paired is not None
    assert paired.resolution == pytest.approx(60 / 100 - 50 / 110)


def test_a_function_of_a_ratio_is_one_of_its_interval_too() -> None:
    found = Ratio(2.0, interval=Interval(1, 3)).mapped(lambda value: 10 - value, Bound.AT_MOST)
    assert found == Ratio(8, Bound.AT_MOST, Interval(7, 9))
    alone = Ratio(2.0).mapped(lambda value: 2 * value, Bound.EXACTLY)
    assert (alone, alone.paired) == (Ratio(4), False)


def test_only_ratios_to_a_lower_bound_are_at_most_theirs() -> None:
    found = paired_ratios(exact(50, 90, 30), {1: AT_LEAST, 2: Headline(100), 3: AT_LEAST})
    assert found is not None
    assert found.at_most_to == 0.5


@pytest.mark.parametrize("below", [False, True])
def test_a_median_of_an_exact_result_and_a_bound_is_a_bound(below: bool) -> None:
    own = {1: Headline(40), 2: AT_LEAST} | ({3: BELOW, 4: AT_LEAST} if below else {})
    found = unpaired_ratio(own, exact(50, 50))
    assert found is not None
    assert (found.value, found.bound) == (1.4, Bound.AT_LEAST)


def test_a_ratio_of_nothing_is_unknown() -> None:
    assert unpaired_ratio({}, exact(1, 2)) is None
    assert unpaired_ratio(exact(1, 2), {}) is None
    assert unpaired_ratios({}, {}) is None
    assert precision({}, None) is None


def test_a_result_of_zero_has_a_ratio_but_no_logarithm() -> None:
    for ratio in (paired_ratio, unpaired_ratio):
        found = ratio(exact(0, 50, 60), exact(100, 100, 100))
        assert found is not None
        assert found.value == 0.5
        assert found.interval is None or found.interval.low == 0
        ones = ratio(exact(1, 1, 1), exact(1, 1, 1))
        assert ones is not None
        assert ones.interval == Interval(1, 1)


def test_unpaired_ratios_have_values_around_that_of_the_medians() -> None:
    found = unpaired_ratios(exact(40, 45, 50), exact(80, 90, 100))
    assert found is not None
    assert found.values == pytest.approx((0.5, 0.5, 0.5))


def test_a_precision_is_half_of_the_interval_as_a_share() -> None:
    assert _half_width(Interval(90, 110), 100) == _half_width(Interval(-110, -90), -100) == pytest.approx(0.1)
    assert _half_width(Interval(-1, 1), 0) == math.inf
    assert _half_width(Interval(0, 0), 0) == 0


@given(st.lists(st.tuples(rates, rates), min_size=1, max_size=12))
def test_an_unpaired_ratio_is_that_of_the_medians(pairs: list[tuple[float, float]]) -> None:
    own, other = exact(*(mine for mine, _ in pairs)), exact(*(base for _, base in pairs))
    found = unpaired_ratios(own, other)
    assert found is not None
    assert found.median == statistics.median(mine for mine, _ in pairs) / statistics.median(base for _, base in pairs)
    if found.values:
        assert statistics.median(found.values) == pytest.approx(found.median)


def test_unpaired_ratios_need_no_common_repetition() -> None:
    found = unpaired_ratio({1: Headline(50), 2: Headline(50)}, {3: Headline(100), 4: Headline(100)})
    assert found is not None
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((0.5, 0.5, 0.5))


def test_one_bound_among_exact_results_takes_the_interval_away() -> None:
    found = unpaired_ratios(exact(40, 45) | {3: AT_LEAST}, exact(80, 90) | {3: AT_LEAST})
    assert found is not None
    assert (found.bounded_median.value, found.bounded_median.bound) == (0.5, Bound.EXACTLY)
    assert found.interval is None


AT_LEAST, BELOW = Headline(100, 100, None), Headline(0, None, 10)


@pytest.mark.parametrize(
    ("own", "other", "value", "bound"),
    [
        (Headline(50), AT_LEAST, 0.5, Bound.AT_MOST),
        (AT_LEAST, Headline(50), 2, Bound.AT_LEAST),
        (BELOW, Headline(50), 0.2, Bound.BELOW),
    ],
)
def test_a_bound_makes_the_ratio_a_bound(own: Headline, other: Headline, value: float, bound: Bound) -> None:
    paired = paired_ratio(dict.fromkeys((1, 2, 3), own), dict.fromkeys((1, 2, 3), other))
    for found in (paired, unpaired_ratio(dict.fromkeys((1, 2, 3), own), dict.fromkeys((1, 2, 3), other))):
        assert found is not None
        assert (found.value, found.bound, found.interval) == (value, bound, None)


@pytest.mark.parametrize(("own", "other"), [(AT_LEAST, AT_LEAST), (Headline(5), BELOW), (Headline(5), Headline(0))])
def test_some_ratios_are_unknown(own: Headline, other: Headline) -> None:
    assert paired_ratio({1: own}, {1: other}) is None
    assert unpaired_ratio({1: own}, {1: other}) is None


def test_precision_is_that_of_the_ratio_if_there_is_one() -> None:
    own, other = exact(50, 45, 40, 35), exact(100, 90, 80, 70)
    assert precision(own, other) == pytest.approx(0, abs=1e-9)
    alone = precision(own, None)
    assert alone is not None
    assert alone > 0.1
    assert precision(own, {}) == alone
    assert precision(exact(1), None) is None
    # All that a search allows: further repetitions would not change it.
    assert precision(dict.fromkeys((1, 2, 3), AT_LEAST), None) == 0
