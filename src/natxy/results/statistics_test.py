# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.bounded import Bound, Bounded
from natxy.results.intervals import Interval
from natxy.results.statistics import Headline, percentile, summarize, summarize_bounded, summarize_headlines


@pytest.mark.parametrize(
    ("percent", "expected"), [(1, 1), (10, 1), (10.1, 2), (50, 5), (90, 9), (99, 10), (99.9, 10), (100, 10)]
)
def test_percentiles_of_one_to_ten(percent: float, expected: float) -> None:
    assert percentile([7, 1, 10, 3, 2, 5, 4, 6, 9, 8], percent) == expected


def test_the_99th_of_a_hundred_is_the_99th() -> None:
    assert percentile(range(1, 101), 99) == 99


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=1), st.floats(min_value=0.1, max_value=100))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    needed = percent * len(values) / 100 - 1e-6
    assert sum(value <= found for value in values) >= needed
    assert all(sum(value <= smaller for value in values) < needed + 1e-5 for smaller in values if smaller < found)


def test_exact_values_that_are_alike_have_an_interval_without_width() -> None:
    summary = summarize([100.0] * 8)
    assert summary is not None
    assert summary.interval == Interval(100, 100)


def test_a_summary() -> None:
    summary = summarize([100, 104, 96, 110])
    assert summary is not None
    assert (summary.median, summary.p1, summary.p99) == (102, 96, 110)
    assert (summary.minimum, summary.maximum, summary.count) == (96, 110, 4)
    assert summary.dispersion == pytest.approx(14 / 102)


def test_nothing_has_no_summary_and_zero_no_dispersion() -> None:
    assert summarize([]) is None
    assert summarize_headlines([]) is None
    assert summarize_bounded([]) is None
    zeros = summarize([0.0, 0.0])
    assert zeros is not None
    assert zeros.dispersion is None


@pytest.mark.parametrize("count", [99, 100])
def test_percentiles_of_fewer_than_a_hundred_are_extremes(count: int) -> None:
    summary = summarize([float(value) for value in range(1, count + 1)])
    assert summary is not None
    assert summary.percentiles_are_extremes == (count < 100)
    assert (summary.p1, summary.p99) == (1, 99)
    assert summary.minimum == 1
    assert summary.maximum == count


def test_two_values_have_a_standard_deviation() -> None:
    summary = summarize([1.0, 3.0])
    assert summary is not None
    assert summary.standard_deviation == pytest.approx(2**0.5)


def test_a_multiple_of_a_result_has_its_bounds() -> None:
    assert Headline(3, 3, 5).times(2) == Headline(6, 6, 10)
    assert Headline(3, 3, None).times(2) == Headline(6, 6, None)
    assert Headline(0, None, 5).times(2) == Headline(0, None, 10)
    assert [each.bracket for each in (Headline(3, 3, 5), Headline(3, 3, None), Headline(0, None, 5))] == [2, 0, 0]


REACHED = Headline(600, 600, None)
NOTHING = Headline(0, None, 10)


@pytest.mark.parametrize(
    ("headlines", "minimum", "median", "maximum", "dispersion"),
    [
        ([Headline(400, 400, 410), Headline(500, 500, 510)], "400", "450", "500", "0.22"),
        ([Headline(448, 448, 456), Headline(582, 582, 590), REACHED], "448", "582", "≥ 600", "≥ 0.26"),
        ([Headline(500, 500, 510), REACHED], "500", "≥ 550", "≥ 600", "≥ 0.18"),
        ([REACHED, REACHED], "≥ 600", "≥ 600", "≥ 600", "≥ 0"),
        ([NOTHING, Headline(400, 400, 410), Headline(500, 500, 510)], "< 10", "400", "500", "≤ 1.2"),
        ([NOTHING, Headline(400, 400, 410), REACHED], "< 10", "400", "≥ 600", "–"),
        ([NOTHING], "< 10", "< 10", "< 10", "–"),
        # The true median is between 200 and 205.
        ([NOTHING, Headline(400, 400, 410)], "< 10", "≥ 200", "400", "≤ 2"),
        ([NOTHING, NOTHING, Headline(400, 400, 410), Headline(500, 500, 510)], "< 10", "≥ 200", "500", "≤ 2.5"),
        ([NOTHING, NOTHING, NOTHING, Headline(400, 400, 410)], "< 10", "< 10", "400", "–"),
        # Not searched: a 0 is a 0.
        ([Headline(0), Headline(5)], "0", "2.5", "5", "2"),
    ],
)
def test_what_a_search_cut_off_is_shown_as_a_bound(
    headlines: list[Headline], minimum: str, median: str, maximum: str, dispersion: str
) -> None:
    def show(value: Bounded | None) -> str:
        return "–" if value is None else value.text(lambda plain: f"{plain:.2g}" if plain < 10 else f"{plain:g}")

    summary = summarize_headlines(headlines)
    assert summary is not None
    assert show(summary.bounded(summary.minimum)) == minimum
    assert show(summary.bounded_median) == median
    assert show(summary.bounded(summary.p99)) == show(summary.bounded(summary.maximum)) == maximum
    assert show(summary.bounded_dispersion) == dispersion


def test_the_standard_deviation_is_the_samples_and_none_of_bounds() -> None:
    def deviation(*headlines: Headline) -> float | None:
        summary = summarize_headlines(headlines)
        assert summary is not None
        return summary.exact_deviation

    assert deviation(Headline(2), Headline(4), Headline(6)) == 2
    assert deviation(Headline(2, 2, 3)) is None
    assert deviation(Headline(2, 2, 3), Headline(6, 6, None)) is None
    assert deviation(Headline(0, None, 1), Headline(6, 6, 7)) is None


@pytest.mark.parametrize(
    ("headlines", "mean", "spread"),
    [
        ([Headline(400, 400, 410), Headline(500, 500, 510)], "450", "100"),
        # The true mean is between 200 and 205.
        ([NOTHING, Headline(400, 400, 410)], "≥ 200", "≤ 400"),
        ([Headline(500, 500, 510), REACHED], "≥ 550", "≥ 100"),
        ([NOTHING, REACHED], "≥ 300", None),
        ([NOTHING, NOTHING], "< 10", "≤ 0"),
    ],
)
def test_a_bound_makes_mean_and_spread_one(headlines: list[Headline], mean: str, spread: str | None) -> None:
    summary = summarize_headlines(headlines)
    assert summary is not None
    assert summary.bounded_mean is not None
    assert summary.bounded_mean.text(lambda value: f"{value:g}") == mean
    found = summary.bounded_spread(summary.maximum - summary.minimum)
    assert (found and found.text(lambda value: f"{value:g}")) == spread


def test_a_mean_of_upper_bounds_is_one_and_none_of_both_kinds() -> None:
    def mean(*values: Bounded) -> Bounded | None:
        summary = summarize_bounded(values)
        assert summary is not None
        return summary.bounded_mean

    assert mean(Bounded(2, Bound.AT_MOST), Bounded(4)) == Bounded(3, Bound.AT_MOST)
    assert mean(Bounded(2, Bound.AT_MOST), Bounded(4, Bound.AT_LEAST)) is None


def test_only_upper_bounds_and_what_is_not_above_them_are_at_most() -> None:
    summary = summarize_bounded([Bounded(2), Bounded(3, Bound.AT_MOST), Bounded(4)])
    assert summary is not None
    assert [summary.bounded(value).bound for value in (2, 3, 4)] == [Bound.AT_MOST, Bound.AT_MOST, Bound.EXACTLY]
    assert not summary.median_is_at_least
    exact = summarize_bounded([Bounded(2), Bounded(3)])
    assert exact is not None
    assert exact.at_most_to is None


def test_a_median_is_at_least_its_value_if_a_search_ended_there() -> None:
    for headlines, at_least in (([REACHED], True), ([Headline(500, 500, 510)], False)):
        summary = summarize_headlines(headlines)
        assert summary is not None
        assert summary.median_is_at_least == at_least


def test_a_single_value_has_no_dispersion() -> None:
    single = summarize([5.0])
    assert single is not None
    assert single.dispersion is None


def test_an_interval_of_searches_reaches_to_the_end_of_the_widest_bracket() -> None:
    summary = summarize_headlines([Headline(400, 400, 410), Headline(400, 400, 430), Headline(400)])
    assert summary is not None
    assert summary.interval == Interval(400, 430)
    assert replace(summary, interval_of_ratios=Interval(1, 2)).interval == Interval(1, 2)


def test_a_figure_that_cannot_be_negative_has_no_negative_interval() -> None:
    summary = summarize([1, 9])
    assert summary is not None
    assert summary.interval is not None
    assert summary.interval.low == 0
    signed = replace(summary, signed=True).interval
    assert signed is not None
    assert signed.low < 0 < signed.high


@pytest.mark.parametrize("bound", [REACHED, NOTHING])
def test_what_a_search_cut_off_has_no_interval(bound: Headline) -> None:
    summary = summarize_headlines([Headline(500, 500, 510), Headline(510, 510, 520), bound])
    assert summary is not None
    assert summary.interval is None
    at_most = summarize_bounded([Bounded(2, Bound.AT_MOST), Bounded(3)])
    assert at_most is not None
    assert at_most.interval is None


@pytest.mark.parametrize("percent", [0, -1, 101])
def test_bad_percentages(percent: float) -> None:
    with pytest.raises(ValueError, match="percentage"):
        percentile([1], percent)
