# SPDX-License-Identifier: Apache-2.0
"""Computes how many different four-tuples frames have that draw theirs at random."""

from __future__ import annotations

import math
from collections.abc import Iterable

from natxy.plan.model.terms import Order


def expected_distinct(frames: int, fields: Iterable[tuple[int, Order]]) -> float:
    """Returns the expected number of different four-tuples of `frames` frames; a field is its values and their order.

    Fields in pseudorandom order are drawn uniformly and independently for each frame, so that n frames have
    R · (1 - (1 - 1/R)^n) of their R combinations on average. Any other field takes its next value with each frame.
    Together those repeat after the least common multiple of their numbers of values, and each of the combinations that
    they take until then has draws of its own.
    """
    given = [*fields]
    combinations = math.prod(values for values, order in given if order == Order.PSEUDORANDOM)
    period = math.lcm(*(values for values, order in given if order != Order.PSEUDORANDOM))
    rounds, more = divmod(frames, period)
    return more * _drawn(rounds + 1, combinations) + (period - more) * _drawn(rounds, combinations)


def _drawn(draws: int, combinations: int) -> float:
    """Returns the expected number of different ones among `draws` uniform draws of `combinations`."""
    if combinations == 1:
        return min(draws, 1)
    return -combinations * math.expm1(draws * math.log1p(-1 / combinations))
