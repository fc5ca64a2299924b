# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.simulation.dut import SimulatedTable
from natxy.plan.gateways.limits import TablePolicy

Batches = list[tuple[int, bool]]
"""Numbers of connections made one after the other; true if all connections then have a reply."""

BATCHES = st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=6)


def connection_by_connection(capacity: int, policy: TablePolicy, batches: Batches) -> list[tuple[int, int, int]]:
    """Returns by brute force, for each batch: frames passed, its connections kept, and all connections."""
    table: list[int] = []  # the least recently used first
    assured: set[int] = set()
    number, collapsed, seen = 0, False, []

    def displaced(policy: TablePolicy) -> Sequence[int]:
        return {
            TablePolicy.LRU: table,
            TablePolicy.EARLY_DROP: [old for old in table if old not in assured],
            TablePolicy.KEEP: (),
            TablePolicy.COLLAPSE: (),
        }[policy]

    for new, replied in batches:
        passed, first = 0, number
        for one in range(first, first + new):
            if len(table) == capacity:
                if not displaced(policy):
                    collapsed = policy == TablePolicy.COLLAPSE
                    continue
                table.remove(displaced(policy)[0])
            passed += 1
            table.append(one)
        number = first + new
        seen.append((passed, sum(kept >= first for kept in table), len(table)))
        if collapsed:
            break
        if replied:
            assured |= set(table)
    return seen


@pytest.mark.parametrize("policy", TablePolicy)
@given(capacity=st.integers(1, 50), batches=BATCHES)
def test_counts_what_happens_to_every_single_connection(policy: TablePolicy, capacity: int, batches: Batches) -> None:
    table = SimulatedTable(capacity, policy)
    seen = []
    for new, replied in batches:
        passed, kept = table.offer(new)
        seen.append((passed, kept, table.connections))
        if table.collapsed:
            break
        if replied:
            table.reply(table.connections)
    assert seen == connection_by_connection(capacity, policy, batches)


def test_early_drop_spares_what_had_a_reply_and_lru_does_not() -> None:
    tables = {policy: SimulatedTable(100, policy) for policy in (TablePolicy.LRU, TablePolicy.EARLY_DROP)}
    for table in tables.values():
        table.offer(100)
        table.reply(60)
    assert [table.offer(80) for table in tables.values()] == [(80, 80), (80, 40)]
    assert [table.assured for table in tables.values()] == [20, 60]
    tables[TablePolicy.EARLY_DROP].reply(100)
    assert tables[TablePolicy.EARLY_DROP].offer(1) == (0, 0)


def test_a_restart_makes_a_collapsed_gateway_work_again() -> None:
    table = SimulatedTable(10, TablePolicy.COLLAPSE)
    assert table.offer(11) == (10, 10)
    assert table.collapsed
    table.restart()
    assert (table.collapsed, table.connections) == (False, 0)
