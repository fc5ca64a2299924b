# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.errors import PlanError
from natxy.plan.testbeds.cores import CoreAssignment, assign_cores, named_cores


@pytest.mark.parametrize(
    ("available", "tester", "dut", "expected"),
    [
        ([0, 1], None, None, CoreAssignment((0,), (1,), 1)),
        ([0, 1, 2, 3], None, None, CoreAssignment((0,), (1,), 2)),
        ([4, 6], None, None, CoreAssignment((4,), (6,), 6)),
        ([0, 1], None, [0], CoreAssignment((1,), (0,), 0)),
        ([0, 1, 2, 3], [1, 2], [0, 3], CoreAssignment((1, 2), (0, 3), 0)),
        ([0], None, None, CoreAssignment((0,), (0,), 0)),
    ],
)
def test_assignment(
    available: list[int], tester: list[int] | None, dut: list[int] | None, expected: CoreAssignment
) -> None:
    assert assign_cores(available, tester, dut) == expected


def test_one_core_is_shared_and_two_are_not() -> None:
    assert assign_cores([0]).shared
    assert not assign_cores([0, 1]).shared


def test_the_gateway_has_as_many_cores_as_are_asked_for_and_left() -> None:
    assert assign_cores(range(8), dut_count=4) == CoreAssignment((0,), (1, 2, 3, 4), 5)
    assert assign_cores(range(4), dut_count=4) == CoreAssignment((0,), (1, 2, 3), 1)
    assert assign_cores(range(8), dut=[6, 7], dut_count=4).dut == (6, 7)


def test_core_that_is_not_there() -> None:
    with pytest.raises(PlanError, match=r"dut_cores names core 7, but natxy may run on cores 0, 1 only"):
        assign_cores([0, 1], dut=[1, 7])


@given(
    st.sets(st.integers(0, 15), min_size=2).flatmap(
        lambda cores: st.tuples(
            st.just(cores), st.none() | st.sets(st.sampled_from(sorted(cores)), min_size=1, max_size=len(cores) - 1)
        )
    )
)
def test_automatic_dut_never_shares_while_a_core_is_left(case: tuple[set[int], set[int] | None]) -> None:
    cores, tester = case
    assigned = assign_cores(cores, sorted(tester) if tester else None)
    assert not assigned.shared
    assert assigned.main not in assigned.tester


def test_cores_are_named_by_their_numbers() -> None:
    assert (named_cores([3]), named_cores([0, 1])) == ("core 3", "cores 0, 1")
