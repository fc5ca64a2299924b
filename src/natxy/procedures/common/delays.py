# SPDX-License-Identifier: Apache-2.0
"""Joins the delays of several streams, such as those of all pairs of interfaces in a direction, into one distribution.

Each tester measures delays with its own clock, so that they can be joined whatever the others' clocks say.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from natxy.engine.messages.results import DelaySummary, DelayVariation, StreamResult
from natxy.procedures.common.traffic import of_directions

# Absorbs the rounding of percentages: 99.9 % of 1000 values is exactly the 999th.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Distribution:
    """Holds values in ns: the exact least and largest one, and a histogram.

    `bounds_ns` has the buckets' bounds in increasing order, and `up_to` how many values each has with all before it.
    """

    least_ns: int
    largest_ns: int
    bounds_ns: tuple[int, ...]
    up_to: tuple[int, ...]

    def percentile(self, percent: float) -> int:
        """Returns the bound of the bucket with the smallest x with F(x) >= `percent`/100 (RFC 2330 §11.3)."""
        rank = math.ceil(percent * self.up_to[-1] / 100 * (1 - _ROUNDING))
        return min(self.bounds_ns[bisect_left(self.up_to, max(rank, 1))], self.largest_ns)


Part = DelaySummary | DelayVariation | None


def joined_by_direction(
    streams: Iterable[StreamResult], part: Callable[[StreamResult], Part]
) -> dict[str, Distribution]:
    """Returns the distribution of each direction in which `part` gives any of its streams a histogram."""
    found = {name: joined(map(part, those)) for name, those in of_directions(streams).items()}
    return {name: each for name, each in found.items() if each}


def joined(parts: Iterable[Part]) -> Distribution | None:
    """Returns the distribution of all values of the parts, or None if nothing has a histogram."""
    known = [part for part in parts if part and part.histogram]
    counts: Counter[int] = Counter()
    for part in known:
        for bound_ns, count in part.histogram or ():
            counts[bound_ns] += count
    if not counts:
        return None
    bounds_ns = sorted(counts)
    return Distribution(
        min(part.min_ns for part in known),
        max(part.max_ns for part in known),
        tuple(bounds_ns),
        tuple(accumulate(counts[bound_ns] for bound_ns in bounds_ns)),
    )
