# SPDX-License-Identifier: Apache-2.0
"""Judges whether what was sampled through a soak stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import fmean, linear_regression, variance
from typing import Final

CONFIDENCE: Final = 0.99
# Neighboring samples resemble each other, so that each one says little; the means of this many stretches are judged.
STRETCHES: Final = 20

Samples = Sequence[Mapping[str, float]]


class Trend(StrEnum):
    FLAT = "flat"
    UNDECIDED = "undecided"
    DRIFTS = "drifts"


@dataclass(frozen=True)
class Slope:
    """Holds a slope with its confidence interval."""

    value: float
    low: float
    high: float

    def __mul__(self, factor: float) -> Slope:
        return Slope(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Quantity:
    """Names a column of the samples and the unit it is shown in, as so many of the column's own.

    It must not grow by more than `bound_per_h` and, unless it may fall, not fall by more. Without a bound it is only
    shown.
    """

    title: str
    column: str
    unit: float
    bound_per_h: float | None = None
    may_fall: bool = True


@dataclass(frozen=True)
class Course:
    """Holds a quantity's means in the first and the last tenth, and what an hour and a reopening add to it."""

    quantity: Quantity
    first: float
    last: float
    per_h: Slope
    per_reopening: Slope

    @property
    def trend(self) -> Trend | None:
        """Returns None for a quantity without a bound."""
        bound = self.quantity.bound_per_h
        if bound is None:
            return None
        least = -math.inf if self.quantity.may_fall else -bound
        if self.per_h.low > bound or self.per_h.high < least:
            return Trend.DRIFTS
        return Trend.FLAT if least <= self.per_h.low and self.per_h.high <= bound else Trend.UNDECIDED


def courses(samples: Samples, quantities: Sequence[Quantity]) -> Iterator[Course]:
    """Yields the course of each quantity. ValueError when there are fewer samples than STRETCHES."""
    if len(samples) < STRETCHES:
        raise ValueError(f"{len(samples)} cycles after the warm-up are too few to judge: soak for {STRETCHES} or more")
    hours = [sample["elapsed_s"] / 3600 for sample in samples]
    reopenings = [sample["reopenings"] for sample in samples]
    tenth = max(1, len(samples) // 10)
    for quantity in quantities:
        values = [sample[quantity.column] / quantity.unit for sample in samples]
        yield Course(
            quantity,
            fmean(values[:tenth]),
            fmean(values[-tenth:]),
            slope(hours, values),
            slope(reopenings, values),
        )


def slope(at: Sequence[float], values: Sequence[float]) -> Slope:
    """Returns the slope of a straight line through the means of the stretches."""
    from scipy.stats import t

    x, y = _means(at), _means(values)
    line = linear_regression(x, y)
    residuals = [each - line.intercept - line.slope * where for where, each in zip(x, y, strict=True)]
    error = math.hypot(*residuals) / math.sqrt((STRETCHES - 2) * variance(x) * (STRETCHES - 1))
    margin = float(t.ppf((1 + CONFIDENCE) / 2, STRETCHES - 2)) * error
    return Slope(line.slope, line.slope - margin, line.slope + margin)


def _means(values: Sequence[float]) -> list[float]:
    bounds = [len(values) * stretch // STRETCHES for stretch in range(STRETCHES + 1)]
    return [fmean(values[begin:end]) for begin, end in pairwise(bounds)]
