# SPDX-License-Identifier: Apache-2.0
"""Estimates how many repetitions make an interval narrow enough."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

from natxy.results.intervals import student

_MOST: Final = 1000
# Of the averages of pairs, compared with the mean, if the values are normally distributed (Hollander and Wolfe, §3.11).
_EFFICIENCY: Final = 3 / math.pi


def repetitions_needed(
    margin: float,
    *groups: Sequence[float],
    resolution: float = 0.0,
    least: int | None = None,
    most: int = _MOST,
) -> int | None:
    """Returns how many values each group needs until half the interval of their shift is no wider than `margin`.

    The interval of a single group is that of its median. The values' spread is taken from those that there are, two or
    more in each group. `resolution` is the part of the interval's width that no repetition narrows: the bracket that a
    search ends with. The number is at least `least`, by default one more than the larger group has; None above `most`.
    """
    variance = sum(statistics.variance(values) for values in groups)
    left = margin - resolution / 2
    if left <= 0:
        return None
    for count in range(least or max(len(values) for values in groups) + 1, most + 1):
        freedom = len(groups) * (count - 1)
        if student(freedom) * math.sqrt(variance / (_EFFICIENCY * count)) <= left:
            return count
    return None
