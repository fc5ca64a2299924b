# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.search.capacity import CapacitySearch
from natxy.search.kept import FAILURES, Kept


def search_for(
    max_connections: int = 100_000_000, error: int = 1, *, count: bool = False, failures: int = FAILURES
) -> CapacitySearch:
    def narrow(low: float, high: float) -> bool:
        return high - low <= 0.01 * high

    return CapacitySearch(max_connections, 0.2, 0.4, error, narrow, count, failures)


class Dut:
    """Keeps `capacity` connections, at up to `rate`, which falls by `slope` with each doubling.

    With too many, `miscounted` more are kept. A share of all attempts loses some frames by accident.
    """

    def __init__(
        self, capacity: int, rate: float = 1e5, slope: float = 0.0, miscounted: int = 0, accidents: float = 0.0
    ) -> None:
        self.capacity = capacity
        self.rate = rate
        self.slope = slope
        self.miscounted = miscounted
        self.accidents = accidents
        self.tried: list[tuple[int, float]] = []
        self.random = random.Random(capacity)

    def __call__(self, connections: int, rate: float) -> Kept:
        self.tried.append((connections, rate))
        kept = connections
        if connections > self.capacity:
            kept = max(0, min(connections - 1, self.capacity + self.miscounted))
        if rate > self.rate * (1 - self.slope) ** (connections.bit_length() - 7):
            kept = kept // 2
        if self.random.random() < self.accidents:
            # An accident often costs whole bursts.
            kept = max(0, kept - 32 * self.random.randint(1, 8))
        return Kept(kept == connections, kept)


@settings(max_examples=1500, deadline=None)
@given(
    capacity=st.integers(min_value=100, max_value=50_000_000),
    error=st.integers(min_value=1, max_value=10_000),
    slope=st.floats(min_value=0, max_value=0.5),
    failures=st.sampled_from([1, FAILURES]),
)
def test_finds_every_capacity_within_the_error(capacity: int, error: int, slope: float, failures: int) -> None:
    found = search_for(error=error, failures=failures).run(
        100, 1e5 if not slope else 0.99e5, Dut(capacity, slope=slope)
    )
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
    dut = Dut(capacity, miscounted=missed)
    found = search_for(error=error, count=True).run(100, 1e5, dut)
    assert found.upper_bound is not None
    assert found.capacity <= capacity < found.upper_bound <= found.capacity + error
    assert found.too_many is not None
    if missed == 0 and found.safe < capacity < found.too_many - 3 * error:
        tried = [connections for connections, _ in dut.tried]
        first = tried.index(found.too_many)
        assert tried[first:] == [*[found.too_many] * 3, capacity, capacity, capacity + error]


def test_the_published_run() -> None:
    # nf_conntrack_max = 2²², C0 = 10⁶, E = 1.
    found = search_for().run(1_000_000, 1e5, Dut(2**22))
    assert (found.safe, found.too_many, found.capacity, found.upper_bound) == (4_000_000, 8_000_000, 2**22, 2**22 + 1)


def test_too_many_for_a_table_whose_size_is_known_takes_one_step() -> None:
    dut = Dut(1500)
    found = search_for().run(1000, 1e5, dut)
    assert found.full
    too_many = [connections for connections, _ in dut.tried if connections > 1500]
    assert too_many[:3] == [2000] * 3
    # The last step confirms the upper bound, unless that was the last one tried.
    assert len(too_many) - len(set(too_many)) - 2 <= 1
    # The rate never changes, so the two ends of the bracket suffice.
    kept = [connections for connections, _ in dut.tried if connections <= 1500]
    assert all(kept.count(connections) == 2 for connections in kept)


def test_the_numbers_and_rates_that_are_tried() -> None:
    dut = Dut(1500)
    search_for(error=100).run(1000, 1e5, dut)
    too_many = [(2000, 0.2e5)] * 3
    assert dut.tried == [*too_many, (1500, 0.4e5), (1500, 1e5), (1750, 0.4e5), (1625, 0.4e5), (1562, 0.4e5)]
    dut = Dut(1500)
    search_for(error=100, failures=1).run(1000, 1e5, dut)
    assert dut.tried == [(2000, 0.2e5), (1500, 0.4e5), (1500, 1e5), (1750, 0.4e5), (1625, 0.4e5), (1562, 0.4e5)]
    dut = Dut(1500)
    found = search_for(1800, error=100).run(1000, 1e5, dut)
    too_many = [(1800, 0.2e5)] * 3
    assert dut.tried == [
        *too_many, (1400, 0.4e5), (1400, 1e5), (1600, 0.4e5), (1500, 0.4e5), (1500, 1e5),
        (1600, 0.4e5),
    ]  # fmt: skip
    assert (found.too_many, found.upper_bound) == (1800, 1600)


@pytest.mark.parametrize(
    ("miscounted", "error", "numbers"),
    [
        (-40, 1, [1460, 1461, 1462, 1464, 1468, 1476, 1492, 1524, 1508, 1500, 1504, 1502, 1501]),
        (40, 1, [1540, 1539, 1538, 1536, 1532, 1524, 1508, 1476, 1492, 1500, 1504, 1502, 1501]),
        (-40, 16, [1460, 1476, 1492, 1524, 1508]),
        (40, 16, [1540, 1524, 1508, 1476, 1492]),
        (-490, 10, [1010, 1020, 1030, 1050, 1090, 1170, 1330, 1650, 1490, 1570, 1530, 1510, 1500]),
    ],
)  # fmt: skip
def test_a_wrong_count_is_left_by_doubling_distances(miscounted: int, error: int, numbers: list[int]) -> None:
    dut = Dut(1500, miscounted=miscounted)
    search_for(error=error, count=True).run(1000, 1e5, dut)
    assert [*dict.fromkeys(connections for connections, _ in dut.tried)] == [2000, *numbers]


def test_the_rate_is_known_as_well_as_the_search_asks() -> None:
    found = search_for().run(1024, 1e5, Dut(3000, slope=0.1))
    assert found.rates[2048] == pytest.approx(1e5 * 0.9**5, rel=0.01)


def test_a_falling_rate_ends_it_like_a_full_table() -> None:
    draw = random.Random(1)

    def slow_beyond_5000(connections: int, rate: float) -> Kept:
        passed = rate <= (1e5 if connections <= 5000 else 1e4)
        return Kept(passed, connections if passed else draw.randint(1, connections))

    found = search_for().run(1000, 1e5, slow_beyond_5000)
    assert (found.safe, found.too_many, found.capacity, found.full) == (4000, 8000, 5000, False)
    assert found.rate_needed == pytest.approx(0.4e5)


def test_a_table_without_end_is_only_bounded_from_below() -> None:
    found = search_for(max_connections=5000).run(1000, 1e5, lambda connections, rate: Kept(True, connections))
    assert (found.capacity, found.too_many, found.upper_bound) == (5000, None, None)
    assert [*found.rates] == [1000, 2000, 4000, 5000]
    assert not found.full


def test_five_accidents_in_a_hundred_leave_the_capacity_exact() -> None:
    draw = random.Random(9693)
    wrong, steps, steps_without = 0, 0, 0
    for _ in range(3000):
        capacity = draw.randint(2000, 2_000_000)
        dut, undisturbed = Dut(capacity, accidents=0.05), Dut(capacity)
        wrong += search_for().run(1000, 1e5, dut).capacity != capacity
        assert search_for().run(1000, 1e5, undisturbed).capacity == capacity
        steps += len(dut.tried)
        steps_without += len(undisturbed.tried)
    assert wrong <= 3000 / 100
    assert steps < 1.4 * steps_without


def test_a_number_that_accidents_rejected_is_tried_again() -> None:
    dut = Dut(5000)

    def disturbed_at_first(connections: int, rate: float) -> Kept:
        found = dut(connections, rate)
        return Kept(False, 3000 + len(dut.tried)) if 3 <= len(dut.tried) <= 5 else found

    found = search_for().run(1000, 1e5, disturbed_at_first)
    assert [connections for connections, _ in dut.tried[:5]] == [2000, 2000, 4000, 4000, 4000]
    assert (found.capacity, found.safe, found.too_many, found.upper_bound) == (5000, 4000, 8000, 5001)
