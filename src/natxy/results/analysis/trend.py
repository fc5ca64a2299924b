# SPDX-License-Identifier: Apache-2.0
"""Tests whether values rise or fall in their order (Mann, "Nonparametric tests against trend", 1945)."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from typing import Final

# For more values the normal distribution is as good as the exact one.
_EXACT: Final = 50


def chance_of_trend(values: Sequence[float]) -> float:
    """Returns how likely it is that values without a trend rise, or fall, at least as often as these do.

    All pairs of values are compared. Equal values neither rise nor fall.
    """
    count = len(values)
    more = abs(_risen(values))
    if not more:
        return 1.0
    alike = [times for times in Counter(values).values() if times > 1]
    if count > _EXACT or alike:
        variance = (_variance_18(count) - sum(map(_variance_18, alike))) / 18
        return 2 * statistics.NormalDist().cdf(-(more - 1) / math.sqrt(variance))
    # Of all orders of the values, so many have each number of pairs that fall.
    ways = [1]
    for size in range(2, count + 1):
        ways = [sum(ways[max(0, fallen - size + 1) : fallen + 1]) for fallen in range(len(ways) + size - 1)]
    # Of the pairs, more rose than fell by `more`, or the other way round.
    fewest = (count * (count - 1) // 2 - more) // 2
    return min(1.0, 2 * sum(ways[: fewest + 1]) / math.factorial(count))


def _risen(values: Sequence[float]) -> int:
    """Returns how many more pairs of values rise than fall."""
    earlier: list[float] = []
    risen = 0
    for value in values:
        risen += bisect_left(earlier, value) - (len(earlier) - bisect_right(earlier, value))
        insort(earlier, value)
    return risen


def _variance_18(count: int) -> int:
    """Returns 18 times the variance of the pairs that rise, less those that fall, of so many values (Kendall 1975)."""
    return count * (count - 1) * (2 * count + 5)
