# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.search.capacity import CapacitySearch


def search_for(max_connections: int = 100_000_000, error: int = 1) -> CapacitySearch:
    return CapacitySearch(max_connections, 0.2, 0.4, error, lambda low, high: high - low <= 0.01 * high)


class Dut:
    """Keeps `capacity` connections, at up to `rate`, which falls by `slope` with each doubling."""

    def __init__(self, capacity: int, rate: float = 1e5, slope: float = 0.0) -> None:
        self.capacity = capacity
        self.rate = rate
        self.slope = slope
        self.tried: list[tuple[int, float]] = []

    def __call__(self, connections: int, rate: float) -> bool:
        self.tried.append((connections, rate))
        return connections <= self.capacity and rate <= self.rate * (1 - self.slope) ** (connections.bit_length() - 7)


@settings(max_examples=3000, deadline=None)
@given(
    capacity=st.integers(min_value=100, max_value=50_000_000),
    error=st.integers(min_value=1, max_value=10_000),
    slope=st.floats(min_value=0, max_value=0.5),
)
def test_finds_every_capacity_within_the_error(capacity: int, error: int, slope: float) -> None:
    found = search_for(error=error).run(100, 1e5 if not slope else 0.99e5, Dut(capacity, slope=slope))
    assert found.upper_bound is not None
    assert found.capacity <= capacity < found.upper_bound <= found.capacity + error
    assert found.too_many == 2 * found.safe
    assert found.safe <= found.capacity


@settings(max_examples=1000, deadline=None)
@given(
    capacity=st.integers(min_value=100, max_value=50_000_000),
    error=st.integers(min_value=1, max_value=10_000),
    missed=st.one_of(st.integers(min_value=-50, max_value=50), st.integers(-(10**6), 10**6)),
)
def test_a_count_that_is_nearly_right_saves_steps(capacity: int, error: int, missed: int) -> None:
    dut = Dut(capacity)
    found = search_for(error=error).run(100, 1e5, dut, lambda: max(0, capacity + missed))
    assert found.upper_bound is not None
    assert found.capacity <= capacity < found.upper_bound <= found.capacity + error
    assert found.too_many is not None
    if missed == 0 and found.safe < capacity < found.too_many - 3 * error:
        tried = [connections for connections, _ in dut.tried]
        assert tried[tried.index(found.too_many) + 1 :] == [capacity, capacity, capacity + error]


def test_the_published_run() -> None:
    # nf_conntrack_max = 2²², C0 = 10⁶, E = 1.
    found = search_for().run(1_000_000, 1e5, Dut(2**22))
    assert (found.safe, found.too_many, found.capacity, found.upper_bound) == (4_000_000, 8_000_000, 2**22, 2**22 + 1)


def test_what_is_too_many_takes_one_step() -> None:
    dut = Dut(1500)
    search_for().run(1000, 1e5, dut)
    too_many = [connections for connections, _ in dut.tried if connections > 1500]
    assert len(too_many) == len(set(too_many))
    # The rate never changes, so the two ends of the bracket suffice.
    kept = [connections for connections, _ in dut.tried if connections <= 1500]
    assert all(kept.count(connections) == 2 for connections in kept)


def test_the_rate_is_known_as_well_as_the_search_asks() -> None:
    found = search_for().run(1024, 1e5, Dut(3000, slope=0.1))
    assert found.rates[2048] == pytest.approx(1e5 * 0.9**5, rel=0.01)


def test_a_falling_rate_ends_it_like_a_full_table() -> None:
    def slow_beyond_5000(connections: int, rate: float) -> bool:
        return rate <= (1e5 if connections <= 5000 else 1e4)

    found = search_for().run(1000, 1e5, slow_beyond_5000)
    assert (found.safe, found.too_many, found.capacity) == (4000, 8000, 5000)


def test_a_table_without_end_is_only_bounded_from_below() -> None:
    found = search_for(max_connections=5000).run(1000, 1e5, lambda connections, rate: True)
    assert (found.capacity, found.too_many, found.upper_bound) == (5000, None, None)
    assert [*found.rates] == [1000, 2000, 4000, 5000]
