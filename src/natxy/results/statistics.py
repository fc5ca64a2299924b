# SPDX-License-Identifier: Apache-2.0
"""What repeated experiments are summed up in."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """Of `count` repetitions. `dispersion` is (maximum − minimum) / median; None where the median is 0."""

    median: float
    p1: float
    p99: float
    minimum: float
    maximum: float
    count: int
    dispersion: float | None


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
        p1=percentile(values, 1),
        p99=percentile(values, 99),
        minimum=min(values),
        maximum=max(values),
        count=len(values),
        dispersion=(max(values) - min(values)) / median if median else None,
    )
