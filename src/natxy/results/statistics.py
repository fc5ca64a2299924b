# SPDX-License-Identifier: Apache-2.0
"""What repeated experiments are summed up in."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

# Below it the 1st percentile is the minimum and the 99th the maximum.
LEAST_FOR_PERCENTILES: Final = 100


class Headline(NamedTuple):
    """A repetition's result. Of a search, `lower_bound` passed and `upper_bound` failed, None when none did; without a
    search both are None."""

    value: float
    lower_bound: float | None = None
    upper_bound: float | None = None

    @property
    def is_at_least(self) -> bool:
        """The search's highest rate passed: the truth may be higher."""
        return self.lower_bound is not None and self.upper_bound is None

    @property
    def is_below_the_search(self) -> bool:
        """Not even the search's lowest rate passed: the truth lies between 0 and that."""
        return self.lower_bound is None and self.upper_bound is not None


@dataclass(frozen=True)
class Summary:
    """Of `count` repetitions. `dispersion` is (maximum − minimum) / |median|; None where the median is 0.
    `standard_deviation` is the sample's. Of a single value both are None.

    `at_least_from`: statistics from this value on are lower bounds. `at_most_to`: up to this value, upper bounds.
    `below`: where a search found nothing, which counts as 0, the lowest rate it tried.
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
    median_is_at_least: bool = False
    at_most_to: float | None = None
    below: float | None = None

    @property
    def percentiles_are_extremes(self) -> bool:
        return self.count < LEAST_FOR_PERCENTILES

    def shown(self, value: float, show: Callable[[float], str]) -> str:
        """`value`, one of these statistics, as a bound where the search's limits cut it off."""
        if value == 0 and self.below is not None:
            return f"< {show(self.below)}"
        is_at_least = self.at_least_from is not None and value >= self.at_least_from
        if self.at_most_to is not None and value <= self.at_most_to:
            return f"≤ {show(value)}"
        return f"≥ {show(value)}" if is_at_least else show(value)

    def shown_median(self, show: Callable[[float], str]) -> str:
        """The median of an even count is a bound where one of its two values is, also without being one of them."""
        return f"≥ {show(self.median)}" if self.median_is_at_least else self.shown(self.median, show)

    def shown_mean(self, show: Callable[[float], str]) -> str | None:
        """Any value that is a bound makes the mean one; None where they are bounds of both kinds. What a search did not
        find counts as 0, so that the truth is not lower."""
        if not self.mean and self.below is not None:
            return f"< {show(self.below)}"
        is_at_least = self.at_least_from is not None or self.below is not None
        if self.at_most_to is not None:
            return None if is_at_least else f"≤ {show(self.mean)}"
        return f"≥ {show(self.mean)}" if is_at_least else show(self.mean)

    def shown_deviation(self, show: Callable[[float], str]) -> str | None:
        """None where nothing can be said of it: of a single value, or where any is a bound."""
        bounds = (self.at_least_from, self.at_most_to, self.below)
        if self.standard_deviation is None or any(bound is not None for bound in bounds):
            return None
        return show(self.standard_deviation)

    def shown_dispersion(self, show: Callable[[float | None], str]) -> str:
        """Nothing can be said of it where both ends are bounds."""
        bound = self._spread_bound
        return show(None) if self.dispersion is None or bound is None else bound + show(self.dispersion)

    def shown_spread(self, spread: float, show: Callable[[float], str]) -> str | None:
        """`spread`, maximum − minimum or more; None where both ends are bounds."""
        bound = self._spread_bound
        return None if bound is None else bound + show(spread)

    @property
    def _spread_bound(self) -> str | None:
        if self.at_least_from is not None:
            return "≥ " if self.below is None else None
        return "" if self.below is None else "≤ "


class Ratio(NamedTuple):
    """A median over another. `bound`: `≤ ` where the other may be higher than measured, `≥ ` where the one may be, `< `
    where its search found nothing. `within_spread`: the two medians are no further apart than their wider spread."""

    value: float
    bound: str = ""
    within_spread: bool = False


def ratio(own: Summary | None, other: Summary | None) -> Ratio | None:
    """None where one of the two is missing, the other is 0 or both are only lower bounds."""
    if own is None or other is None or not other.median or (own.median_is_at_least and other.median_is_at_least):
        return None
    if not own.median and own.below:
        return Ratio(own.below / other.median, "< ")
    bound = "≥ " if own.median_is_at_least else "≤ " if other.median_is_at_least else ""
    return Ratio(own.median / other.median, bound)


def summarize_bounded(values: Sequence[tuple[float, int]]) -> Summary | None:
    """Each with 1 where it is a lower bound, -1 where an upper one, 0 where neither."""
    summary = summarize_headlines([Headline(value, value if bound > 0 else None) for value, bound in values])
    at_most_to = max((value for value, bound in values if bound < 0), default=None)
    return summary and replace(summary, at_most_to=at_most_to)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value x with F(x) >= `percent`/100 (RFC 2330 §11.3); never interpolated."""
    if not values or not 0 < percent <= 100:
        raise ValueError("a percentile needs values and a percentage above 0 and up to 100")
    ordered = sorted(values)
    # Tolerates the rounding of percent/100: 99 % of 100 values is exactly the 99th.
    rank = math.ceil(percent * len(ordered) / 100 - 1e-9)
    return ordered[max(rank, 1) - 1]


def summarize(values: Sequence[float]) -> Summary | None:
    """None when there is nothing to sum up."""
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
    )


def summarize_headlines(headlines: Sequence[Headline]) -> Summary | None:
    """None when there is nothing to sum up."""
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
        median_is_at_least=reached_maximum or counts_nothing,
        below=below,
    )
