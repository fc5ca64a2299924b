# SPDX-License-Identifier: Apache-2.0
"""Tests whether values rise or fall in their order (Mann, "Nonparametric tests against trend", 1945)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import Final

# For more values the normal distribution is as good as the exact one.
_EXACT: Final = 50


def chance_of_trend(values: Sequence[float]) -> float:
    """Returns how likely it is that values without a trend rise, or fall, at least as often as these do.

    All pairs of values are compared. Equal values neither rise nor fall.
    """
    count = len(values)
    pairs = count * (count - 1) // 2
    more = abs(sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2)))
    if not more:
        return 1.0
    if count > _EXACT:
        deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
        return 2 * statistics.NormalDist().cdf(-(more - 1) / deviation)
    # Of all orders of the values, so many have each number of pairs that fall.
    ways = [1]
    for size in range(2, count + 1):
        ways = [sum(ways[max(0, fallen - size + 1) : fallen + 1]) for fallen in range(len(ways) + size - 1)]
    # Of the pairs, more rose than fell by `more`, or the other way round.
    fewest = (pairs - more) // 2
    return min(1.0, 2 * sum(ways[: fewest + 1]) / math.factorial(count))
