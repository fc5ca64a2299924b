# SPDX-License-Identifier: Apache-2.0
"""Summarizes the results of repetitions: medians, percentiles and spreads, with their bounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

from natxy.results.bounded import Bound, Bounded
from natxy.results.intervals import Interval, median_interval

# With fewer repetitions the 1st percentile is the minimum and the 99th the maximum.
LEAST_FOR_PERCENTILES: Final = 100


class Headline(NamedTuple):
    """Holds the result of a repetition and the bracket that its search ended with.

    `lower_bound` is the highest rate that passed and `upper_bound` the lowest that failed; either is None when there
    was no such rate. Without a search both are None. `core_speed_hz` is the speed of the gateway's core, None if it is
    no figure of the procedure or unknown.
    """

    value: float
    lower_bound: float | None = None
    upper_bound: float | None = None
    core_speed_hz: float | None = None

    @property
    def is_at_least(self) -> bool:
        """True when the highest rate of the search passed, so that the truth may be higher."""
        return self.lower_bound is not None and self.upper_bound is None

    @property
    def is_below_the_search(self) -> bool:
        """True when the lowest rate of the search failed, so that the truth lies between 0 and that rate."""
        return self.lower_bound is None and self.upper_bound is not None

    @property
    def bracket(self) -> float:
        """The width of the bracket; 0 when it has only one end or none."""
        return 0.0 if self.lower_bound is None or self.upper_bound is None else self.upper_bound - self.lower_bound

    def times(self, factor: float) -> Headline:
        """Returns the result with its bounds, each multiplied by `factor`."""
        lower, upper = (None if bound is None else factor * bound for bound in (self.lower_bound, self.upper_bound))
        return Headline(factor * self.value, lower, upper, self.core_speed_hz)


@dataclass(frozen=True)
class Summary:
    """Summarizes `count` repetitions.

    `dispersion` is (maximum − minimum) / |median|, None when the median is 0. `standard_deviation` is the sample's.
    Both are None for a single value.

    Statistics from `at_least_from` on are lower bounds, those up to `at_most_to` upper bounds. A search that found
    nothing counts as 0; `below` is then the lowest rate that it tried.

    `values` are those of the repetitions, and `resolution` is the widest bracket that their searches ended with, 0
    without a search. `signed` is True for a figure that may be negative. `interval_of_ratios` is the interval of the
    median if the values are ratios, which have it from their logarithms. `median_bound` is the bound of the median if
    the order of the values does not decide it.
    """

    median: float
    mean: float
    p1: float
    p99: float
    minimum: float
    maximum: float
    count: int
    dispersion: float | None
    standard_deviation: float | None
    at_least_from: float | None = None
    median_bound: Bound | None = None
    at_most_to: float | None = None
    below: float | None = None
    values: tuple[float, ...] = field(default=(), repr=False)
    resolution: float = 0.0
    signed: bool = False
    interval_of_ratios: Interval | None = None

    @cached_property
    def interval(self) -> Interval | None:
        """The 95 % confidence interval; None for a single value, and when any value is a bound."""
        if self.interval_of_ratios:
            return self.interval_of_ratios
        found = None if self.has_bounds else median_interval(self.values, self.resolution)
        return found if found is None or self.signed else Interval(max(found.low, 0.0), found.high)

    @property
    def shown_interval(self) -> Interval | None:
        """The interval that tells a reader something; None with too few values.

        That of two, by Student, is 13 times as long as they are apart. One that reaches down to 0, which none of the
        values is near, says only that three or four values differ.
        """
        found = self.interval
        reaches_zero = found is not None and not self.signed and found.low == 0 < self.minimum
        return None if self.count <= 2 or reaches_zero else found

    @property
    def has_bounds(self) -> bool:
        """True when any value is a bound."""
        return any(bound is not None for bound in (self.at_least_from, self.at_most_to, self.below))

    @property
    def percentiles_are_extremes(self) -> bool:
        return self.count < LEAST_FOR_PERCENTILES

    def bounded(self, value: float) -> Bounded:
        """Returns one of the statistics with its bound."""
        if value == 0 and self.below is not None:
            return Bounded(self.below, Bound.BELOW)
        if self.at_most_to is not None and value <= self.at_most_to:
            return Bounded(value, Bound.AT_MOST)
        is_at_least = self.at_least_from is not None and value >= self.at_least_from
        return Bounded(value, Bound.AT_LEAST if is_at_least else Bound.EXACTLY)

    @property
    def bounded_median(self) -> Bounded:
        """The median of an even count is a bound when one of the middle two values is."""
        return self.bounded(self.median) if self.median_bound is None else Bounded(self.median, self.median_bound)

    @property
    def median_is_at_least(self) -> bool:
        """True when the true median may be higher."""
        return self.bounded_median.bound == Bound.AT_LEAST

    @property
    def bounded_mean(self) -> Bounded | None:
        """The mean is a bound when any value is; it is None when values are bounds of both kinds.

        A search that found nothing counts as 0, so the true mean is not lower.
        """
        if not self.mean and self.below is not None:
            return Bounded(self.below, Bound.BELOW)
        is_at_least = self.at_least_from is not None or self.below is not None
        if self.at_most_to is not None:
            return None if is_at_least else Bounded(self.mean, Bound.AT_MOST)
        return Bounded(self.mean, Bound.AT_LEAST if is_at_least else Bound.EXACTLY)

    @property
    def exact_deviation(self) -> float | None:
        """The standard deviation; None for a single value, and when any value is a bound."""
        return None if self.has_bounds else self.standard_deviation

    @property
    def bounded_dispersion(self) -> Bounded | None:
        """The dispersion; None when it is unknown, or when minimum and maximum are both bounds."""
        return None if self.dispersion is None else self.bounded_spread(self.dispersion)

    def bounded_spread(self, spread: float) -> Bounded | None:
        """Returns a spread, maximum − minimum or wider, with its bound; None when both ends are bounds."""
        if self.at_least_from is not None:
            return Bounded(spread, Bound.AT_LEAST) if self.below is None else None
        return Bounded(spread, Bound.EXACTLY if self.below is None else Bound.AT_MOST)


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the smallest value x with F(x) >= `percent`/100, never interpolated (RFC 2330 §11.3)."""
    if not values or not 0 < percent <= 100:
        raise ValueError("a percentile needs values and a percentage above 0 and up to 100")
    ordered = sorted(values)
    # The tolerance absorbs the rounding of percent/100: 99 % of 100 values is exactly the 99th.
    rank = math.ceil(percent * len(ordered) / 100 - 1e-9)
    return ordered[max(rank, 1) - 1]


def summarize(values: Sequence[float]) -> Summary | None:
    """Summarizes exact values; returns None when there are none."""
    if not values:
        return None
    # The median of an even count is the mean of the middle two (RFC 2330 §11.3).
    median = statistics.median(values)
    return Summary(
        median=median,
        mean=statistics.fmean(values),
        p1=percentile(values, 1),
        p99=percentile(values, 99),
        minimum=min(values),
        maximum=max(values),
        count=len(values),
        dispersion=(max(values) - min(values)) / abs(median) if median and len(values) > 1 else None,
        standard_deviation=statistics.stdev(values) if len(values) > 1 else None,
        values=tuple(values),
    )


def summarize_bounded(values: Sequence[Bounded]) -> Summary | None:
    """Summarizes values that may be lower or upper bounds; returns None when there are none."""
    summary = summarize_headlines(
        [Headline(each.value, each.value if each.bound == Bound.AT_LEAST else None) for each in values]
    )
    at_most_to = max((each.value for each in values if each.bound == Bound.AT_MOST), default=None)
    return summary and replace(summary, at_most_to=at_most_to)


def summarize_headlines(headlines: Sequence[Headline]) -> Summary | None:
    """Summarizes the results of repetitions; returns None when there are none."""
    summary = summarize([headline.value for headline in headlines])
    if summary is None:
        return None
    at_least_from = min((headline.value for headline in headlines if headline.is_at_least), default=None)
    below = max((h.upper_bound for h in headlines if h.is_below_the_search and h.upper_bound), default=None)
    ordered = sorted(headline.value for headline in headlines)
    lower_middle, upper_middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    reached_maximum = at_least_from is not None and upper_middle >= at_least_from
    counts_nothing = below is not None and lower_middle == 0 < upper_middle
    return replace(
        summary,
        at_least_from=at_least_from,
        median_bound=Bound.AT_LEAST if reached_maximum or counts_nothing else None,
        below=below,
        resolution=max(headline.bracket for headline in headlines),
    )
