# SPDX-License-Identifier: Apache-2.0
"""Computes 95 % confidence intervals of the location of values and of the shift between two groups of them.

Where the values suffice for that level, an interval is made of ranks and assumes no normal distribution: of one group
by the Walsh averages and the signed-rank distribution, of two groups by their pairwise differences and the
distribution of Mann and Whitney (Hodges and Lehmann, "Estimates of location based on rank tests", 1963; Hollander and
Wolfe, "Nonparametric Statistical Methods", §3.3 and §4.3). Fewer values have Student's t ("The probable error of a
mean", 1908), for two groups with Welch's degrees of freedom ("The generalization of Student's problem", 1947).

The signed ranks assume that values lie symmetrically around their median. Strictly, the interval is that of the
pseudo-median, the median of the averages of all pairs, and of two groups that of the median of their differences.
Of skewed values, somewhat fewer than 95 % of the intervals contain the median.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

LEVEL: Final = 0.95

# Above these sizes the normal distribution of the rank statistics is as good as the exact one, and far faster …
_EXACT: Final = 50
# … and above these the mean is normally distributed, and the memory for all pairs would be large.
MOST_RANKED: Final = 1000
# Of the level's quantiles of Student's t, 12.7 is the highest, with one degree of freedom, and 1.96 the lowest.
_STUDENT_ENDS: Final = (1.9, 13.0)


@dataclass(frozen=True)
class Interval:
    """Holds the ends of a confidence interval; both belong to it."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def of(self, unit: float) -> Interval:
        """Returns the interval divided by `unit`, which is not 0."""
        ends = (self.low / unit, self.high / unit)
        return Interval(min(ends), max(ends))


def median_interval(values: Sequence[float], resolution: float = 0.0) -> Interval | None:
    """Returns the interval of the values' location, which contains their median; None with fewer than two values.

    `resolution` is the width of the brackets that a search ended with: the truth of each repetition lies between its
    value and that much above it.
    """
    count = len(values)
    if count < 2:
        return None
    skipped = _signed_ranks_skipped(count) if count <= MOST_RANKED else None
    if skipped is None:
        half = student(count - 1) * statistics.stdev(values) / math.sqrt(count)
        found = Interval(statistics.fmean(values) - half, statistics.fmean(values) + half)
    else:
        found = _without_ends(((a + b) / 2 for i, a in enumerate(values) for b in values[i:]), skipped)
    median = statistics.median(values)
    return Interval(min(found.low, median), max(found.high, median) + resolution)


def is_by_ranks(count: int) -> bool:
    """Returns whether the interval of so many values is made of ranks; otherwise it is Student's, of their mean."""
    return count <= MOST_RANKED and _signed_ranks_skipped(count) is not None


def shift_interval(
    first: Sequence[float],
    other: Sequence[float],
    first_resolution: float = 0.0,
    other_resolution: float = 0.0,
) -> Interval | None:
    """Returns the interval of how far `other` lies above `first`; None when either has fewer than two values.

    It contains the difference of the medians. The resolutions are those of `median_interval`: the interval contains all
    differences that the brackets around the medians allow. Repetitions that differ by more than a bracket average its
    rounding out, so that the widths of interval and brackets need not be added.
    """
    if len(first) < 2 or len(other) < 2:
        return None
    fewer, more = sorted((len(first), len(other)))
    skipped = _pairs_skipped(fewer, more) if more <= MOST_RANKED else None
    differences = (b - a for a in first for b in other)
    found = _welch(first, other) if skipped is None else _without_ends(differences, skipped)
    shift = statistics.median(other) - statistics.median(first)
    # The middle of a bracket is half its width above the value.
    offset = (other_resolution - first_resolution) / 2
    return Interval(
        min(found.low + offset, shift - first_resolution),
        max(found.high + offset, shift + other_resolution),
    )


@cache
def student(freedom: float) -> float:
    """Returns the quantile of Student's t distribution that bounds an interval of `LEVEL`.

    It is the t for which the regularized incomplete beta function of t² / (t² + freedom) is `LEVEL` (Abramowitz and
    Stegun 26.7.1). `freedom` is at least 1.
    """
    # Most commands compute no interval.
    from mpmath import betainc, findroot

    def excess(t: Any) -> Any:
        return betainc(0.5, freedom / 2, 0, t * t / (t * t + freedom), regularized=True) - LEVEL

    return float(findroot(excess, _STUDENT_ENDS, solver="anderson"))


def _welch(first: Sequence[float], other: Sequence[float]) -> Interval:
    shift = statistics.fmean(other) - statistics.fmean(first)
    parts = [(statistics.variance(values) / len(values), len(values) - 1) for values in (first, other)]
    variance = sum(part for part, _ in parts)
    if not variance:
        return Interval(shift, shift)
    # Shares instead of the variances themselves, whose squares may be too small for a float.
    freedom = 1 / sum((part / variance) ** 2 / own for part, own in parts)
    half = student(freedom) * math.sqrt(variance)
    return Interval(shift - half, shift + half)


def _without_ends(values: Iterable[float], skipped: int) -> Interval:
    """Returns what the values span without the `skipped` lowest and highest."""
    ordered = sorted(values)
    return Interval(ordered[skipped], ordered[-1 - skipped])


@cache
def _signed_ranks_skipped(count: int) -> int | None:
    """Returns how many of the lowest Walsh averages lie below an interval; None if there are too few values."""
    pairs = count * (count + 1) // 2
    if count > _EXACT:
        return _normal_quantile(pairs / 2, pairs * (2 * count + 1) / 12)
    ways = [1] + [0] * pairs
    for rank in range(1, count + 1):
        for total in range(pairs, rank - 1, -1):
            ways[total] += ways[total - rank]
    return _lower_tail(ways)


@cache
def _pairs_skipped(fewer: int, more: int) -> int | None:
    """Returns how many of the lowest pairwise differences lie below an interval; None if there are too few values."""
    pairs = fewer * more
    if more > _EXACT:
        # The distribution of two values beside many is far from normal, and has too few steps for the level.
        return _normal_quantile(pairs / 2, pairs * (fewer + more + 1) / 12) if fewer > 2 else 0
    # The coefficients of the Gaussian binomial: the product of (1 − x^(more+i)) / (1 − x^i).
    ways = [1] + [0] * pairs
    for i in range(1, fewer + 1):
        for total in range(pairs, more + i - 1, -1):
            ways[total] -= ways[total - more - i]
        for total in range(i, pairs + 1):
            ways[total] += ways[total - i]
    return _lower_tail(ways)


def _lower_tail(ways: Sequence[int]) -> int | None:
    """Returns the highest k with P(X <= k) at most half of what the level leaves; None if there is none.

    `ways[x]` is the number of equally likely cases in which X is x.
    """
    allowed = sum(ways) * (1 - LEVEL) / 2
    below = 0
    for value, own in enumerate(ways):
        below += own
        if below > allowed:
            return value - 1 if value else None
    raise AssertionError("the cases of a distribution exceed half of the level")


def _normal_quantile(mean: float, variance: float) -> int:
    deviations = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    return max(int(mean - deviations * math.sqrt(variance)) - 1, 0)
