# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.simulation.expiry import Made, expired
from natxy.plan.model.terms import Order


def test_counts_the_connections_made_before_a_time() -> None:
    made = Made(start_s=10.0, rate_fps=2.0, connections=4)
    assert [made.before(time_s) for time_s in (9, 10, 10.1, 10.5, 11.6, 99)] == [0, 0, 1, 1, 4, 4]


@pytest.mark.parametrize(
    ("order", "frames"), [(Order.INCREASING, [0, 1, 2]), (Order.DECREASING, [7, 8, 9]), (Order.PSEUDORANDOM, None)]
)
def test_the_oldest_connections_expire(order: Order, frames: list[int] | None) -> None:
    # They are 10, 9, 8 and so on seconds old when replies come all at once.
    found = expired(Made(0.0, 1.0, 10), 7.5, 10.0, 1e6, order)
    assert len(found) == 3
    assert frames in (None, found)


@given(connections=st.integers(1, 200), lifetime_s=st.floats(1, 10), order=st.sampled_from(Order))
def test_without_a_lifetime_or_before_it_nothing_expires(connections: int, lifetime_s: float, order: Order) -> None:
    made = Made(0.0, 1000.0, connections)
    assert expired(made, None, 99, 1.0, order) == expired(made, lifetime_s, 0.2, 1e4, order) == []
