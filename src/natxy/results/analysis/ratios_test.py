# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.analysis.ratios import paired_ratio, precision, unpaired_ratio, unpaired_ratios
from natxy.results.bounded import Bound
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
