# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.draws import expected_distinct
from natxy.plan.model.terms import Order

ORDERS = st.sampled_from([*Order])


@given(
    frames=st.integers(0, 4),
    fields=st.lists(st.tuples(st.integers(1, 3), ORDERS), min_size=1, max_size=3),
)
def test_it_is_the_mean_over_all_draws(frames: int, fields: list[tuple[int, Order]]) -> None:
    """Counts the different tuples of every possible sequence of draws."""
    drawn = [values for values, order in fields if order == Order.PSEUDORANDOM]
    counting = [values for values, order in fields if order != Order.PSEUDORANDOM]
    each_draw = [*itertools.product(*map(range, drawn))]
    total, cases = 0, 0
    for draws in itertools.product(each_draw, repeat=frames):
        total += len({(draw, *(frame % values for values in counting)) for frame, draw in enumerate(draws)})
        cases += 1
    assert expected_distinct(frames, fields) == pytest.approx(float(Fraction(total, cases)))


@given(
    frames=st.integers(1, 2**48),
    fields=st.lists(st.tuples(st.integers(1, 2**32), ORDERS), min_size=4, max_size=4),
)
def test_there_are_no_more_than_frames_and_four_tuples(frames: int, fields: list[tuple[int, Order]]) -> None:
    found = expected_distinct(frames, fields)
    space = math.prod(values for values, _ in fields)
    assert 1 - 1e-9 <= found <= min(frames, space) * (1 + 1e-9)
    assert found <= expected_distinct(frames + 1, fields) * (1 + 1e-9)


def test_as_many_draws_as_four_tuples_find_the_well_known_share_of_them() -> None:
    assert expected_distinct(10**9, [(10**9, Order.PSEUDORANDOM)]) == pytest.approx((1 - math.exp(-1)) * 10**9)


def test_fields_that_count_take_their_values_in_turn() -> None:
    fields = [(40, Order.INCREASING), (25, Order.DECREASING), (1, Order.PSEUDORANDOM)]
    assert expected_distinct(150, fields) == 150
    # 40 and 25 have a common divisor, so that not all of their 1000 pairs occur.
    assert expected_distinct(10_000, fields) == math.lcm(40, 25)


def test_it_is_what_a_simulation_counts() -> None:
    fields = [(400, Order.PSEUDORANDOM), (7, Order.INCREASING)]
    generator = random.Random(5)
    found = [len({(generator.randrange(400), frame % 7) for frame in range(3000)}) for _ in range(30)]
    assert sum(found) / 30 == pytest.approx(expected_distinct(3000, fields), rel=0.01)
