# SPDX-License-Identifier: Apache-2.0
"""Computes the ratio of two experiments' results, with its confidence interval.

Experiments that were measured in blocks have a ratio in every block; the result is their median. What disturbs a whole
block cancels out of its ratio (Box, Hunter and Hunter, "Statistics for Experimenters", 2nd edition, chapters 3 and 4 on
paired comparisons and randomized blocks). A core whose speed changes within a block does not cancel out: where both
know the speed of the gateway's core, their ratio is that at equal speed. Without blocks, the result is the ratio of the
medians, and its interval that of the shift between the logarithms.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from natxy.results.bounded import Bound, Bounded
from natxy.results.intervals import Interval, median_interval, shift_interval
from natxy.results.statistics import Headline, Summary, summarize_headlines

METHOD: Final = (
    "Ratios are medians of the ratio in each block of repetitions (Box, Hunter and Hunter, Statistics for "
    "Experimenters, ch. 4). In brackets is the 95 % confidence interval, from the logarithms of the ratios: by signed "
    "ranks (Hodges and Lehmann 1963), with fewer than six blocks by Student's t."
)
AT_EQUAL_SPEED: Final = (
    "Ratios of receive rates are those at equal speed of the gateway's core, which natxy measured during each trial, "
    "and no quotients of the medians: a host that slows the core down for a moment counts for neither gateway."
)
UNPAIRED_METHOD: Final = (
    "Ratios are quotients of medians, because the experiments were not measured in blocks: drift of the machine counts "
    "as a difference. In brackets is the 95 % confidence interval, that of the shift between the logarithms: by ranks "
    "(Hodges and Lehmann 1963), with few repetitions by Student's t."
)


@dataclass(frozen=True)
class Ratio(Bounded):
    """Holds the ratio of one result to another.

    `interval` is None with fewer than two repetitions, and where a result is only a bound. `paired`: the ratio is the
    median of those in each block. `at_equal_speed`: they are at equal speed of the gateway's core.
    """

    interval: Interval | None = None
    paired: bool = False
    at_equal_speed: bool = False

    def mapped(self, change: Callable[[float], float], bound: Bound) -> Ratio:
        """Returns what a monotonous function of the ratio is, and how the truth relates to that."""
        ends = self.interval and sorted((change(self.interval.low), change(self.interval.high)))
        return replace(self, value=change(self.value), bound=bound, interval=Interval(*ends) if ends else None)


def paired_ratio(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Ratio | None:
    """Returns the median of `paired_ratios`; None when there are none."""
    found = _median(paired_ratios(own, other), paired=True)
    return found and replace(found, at_equal_speed=_know_speeds(own, other))


def unpaired_ratio(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Ratio | None:
    """Returns the ratio of the medians; None when one is missing, that of `other` is 0 or both are lower bounds."""
    return _median(unpaired_ratios(own, other), paired=False)


def _median(summary: Summary | None, *, paired: bool) -> Ratio | None:
    if summary is None:
        return None
    median = summary.bounded_median
    return Ratio(median.value, median.bound, summary.interval, paired=paired)


def paired_ratios(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Summary | None:
    """Summarizes `own` / `other` over the repetitions that both have; the keys are their numbers.

    The ratios are at equal speed of the gateway's core where all of these repetitions know it. Repetitions without a
    ratio, because `other` is 0 or both results are lower bounds, are left out. Returns None if none is left.
    """
    if _know_speeds(own, other):
        own = {number: _at_speed(own[number], other[number]) for number in own if number in other}
    return _ratios(own, other)


def _ratios(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Summary | None:
    pairs = [(own[number], other[number]) for number in own if number in other]
    pairs = [(mine, base) for mine, base in pairs if base.value and not (mine.is_at_least and base.is_at_least)]
    summary = summarize_headlines([_quotient(mine, base) for mine, base in pairs])
    if summary is None:
        return None
    at_most_to = max((mine.value / base.value for mine, base in pairs if base.is_at_least), default=None)
    resolution = max(high - low for low, high in map(_ends, pairs))
    return replace(
        summary, at_most_to=at_most_to, resolution=resolution, interval_of_ratios=_of_pairs(pairs, summary.median)
    )


def unpaired_ratios(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Summary | None:
    """Summarizes `own` / `other` around the ratio of their medians; the keys are the numbers of the repetitions.

    The values are the ratios of repetitions with the same number, multiplied so that their median is that ratio. There
    are none where a result is only a bound. Returns None when `unpaired_ratio` does.
    """
    mine, base = summarize_headlines([*own.values()]), summarize_headlines([*other.values()])
    if mine is None or base is None or not base.median or (mine.median_is_at_least and base.median_is_at_least):
        return None
    median, below = mine.median / base.median, mine.below and mine.below / base.median
    bound = Bound.AT_LEAST if mine.median_is_at_least else Bound.AT_MOST if base.median_is_at_least else Bound.EXACTLY
    interval = _of_groups([*own.values()], [*other.values()])
    spread = _ratios_around(median, own, other)
    return spread and replace(
        spread,
        median=median,
        median_bound=None if below and not median else bound,
        below=below,
        values=spread.values if interval else (),
        interval_of_ratios=interval,
    )


def _ratios_around(median: float, own: Mapping[int, Headline], other: Mapping[int, Headline]) -> Summary | None:
    pairs = _ratios(own, other)
    if pairs and pairs.median:
        factor = median / pairs.median
        pairs = _ratios({number: headline.times(factor) for number, headline in own.items()}, other)
    return pairs or summarize_headlines([Headline(median)])


def precision(own: Mapping[int, Headline], baseline: Mapping[int, Headline] | None) -> float | None:
    """Returns half the width of an interval, as a share of the value: that of the ratio to the baseline in the same
    blocks, or without a ratio that of the median. None with fewer than two repetitions."""
    found = paired_ratio(own, baseline) if baseline is not None else None
    if found and found.interval:
        return _half_width(found.interval, found.value)
    values = [headline.value for headline in own.values()]
    interval = median_interval(values, max((headline.bracket for headline in own.values()), default=0.0))
    return _half_width(interval, statistics.median(values)) if interval else None


def _half_width(interval: Interval, value: float) -> float:
    half = (interval.high - interval.low) / 2
    return half / abs(value) if value else math.inf if half else 0.0


def _know_speeds(own: Mapping[int, Headline], other: Mapping[int, Headline]) -> bool:
    return all(own[number].core_speed_hz and other[number].core_speed_hz for number in own if number in other)


def _at_speed(headline: Headline, of: Headline) -> Headline:
    """Returns a result as it would be at the other one's speed of the core, since rates rise with it."""
    assert headline.core_speed_hz
    assert of.core_speed_hz
    return headline.times(of.core_speed_hz / headline.core_speed_hz)


def _quotient(own: Headline, other: Headline) -> Headline:
    if own.is_below_the_search and own.upper_bound:
        return Headline(0.0, None, own.upper_bound / other.value)
    ratio = own.value / other.value
    return Headline(ratio, ratio if own.is_at_least else None)


def _is_bound(headline: Headline) -> bool:
    return headline.is_at_least or headline.is_below_the_search


def _of_pairs(pairs: Sequence[tuple[Headline, Headline]], median: float) -> Interval | None:
    """Returns the interval of the ratios' median, by their logarithms: it holds no ratio below 0."""
    if not pairs or any(_is_bound(headline) or headline.value <= 0 for pair in pairs for headline in pair):
        return None
    # As multiples of the median, so that equal ratios have their own value as the interval, without a rounding.
    lowest, highest = zip(*((math.log(end / median) for end in _ends(pair)) for pair in pairs), strict=True)
    found = median_interval(lowest, max(high - low for low, high in zip(lowest, highest, strict=True)))
    # The median of an even count is a mean of two ratios, which lies above that of their logarithms.
    return found and Interval(median * math.exp(found.low), median * math.exp(max(found.high, 0.0)))


def _ends(pair: tuple[Headline, Headline]) -> tuple[float, float]:
    """Returns the ends that a ratio lies between, since each result lies in the bracket that its search ended with."""
    own, other = pair
    return own.value / (other.value + other.bracket), (own.value + own.bracket) / other.value


def _of_groups(own: Sequence[Headline], other: Sequence[Headline]) -> Interval | None:
    if any(_is_bound(headline) or headline.value <= 0 for headline in (*own, *other)):
        return None
    base, mine = ([math.log(headline.value) for headline in group] for group in (other, own))
    widths = (max(math.log1p(each.bracket / each.value) for each in group) for group in (other, own))
    shift = shift_interval(base, mine, *widths)
    return shift and Interval(math.exp(shift.low), math.exp(shift.high))
