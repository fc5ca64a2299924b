# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from natxy.results.dut_load import InstructionCount
from tools.connection_turns import Turn, parts, table

CONNECTIONS: Final = 100
# A second at rest costs 1,000 instructions, and a connection 500 beside that.
IDLE: Final = InstructionCount(count=1000, elapsed_s=1.0, functions={"tick": 1000})
EXECUTED: Final = InstructionCount(count=52_000, elapsed_s=2.0, functions={"tick": 2000, "forward": 50_000})
WHOLE: Final = Turn(
    connections=CONNECTIONS,
    failed=0,
    resent=0,
    rate_cps=50.0,
    frames=1000,
    bytes=80_000,
    counters={"invalid": 0, "insert_failed": 0, "drop": 0},
    states={"TIME_WAIT": CONNECTIONS},
    executed=EXECUTED,
    idle=IDLE,
)


def costing(per_connection: int) -> Turn:
    return replace(WHOLE, executed=EXECUTED.model_copy(update={"count": 2000 + per_connection * CONNECTIONS}))


def test_what_the_virtual_machine_executes_at_rest_is_taken_off() -> None:
    assert WHOLE.cost == 500
    assert WHOLE.functions() == {"tick": 0, "forward": 500}


def test_costs_are_compared_in_medians_of_pairs() -> None:
    pairs = [(costing(480), WHOLE), (costing(475), WHOLE), (costing(470), WHOLE)]
    lines, good = table(pairs, 10)
    assert good
    cells = {line.split(" | ")[0]: line for line in lines}
    assert cells["| instructions of a connection"].startswith("| instructions of a connection | 475 | 500 | 0.950 [0.9")
    assert cells["| instructions of a frame"].startswith("| instructions of a frame | 48 | 50 | 0.950")
    assert cells["| conntrack: entries"] == "| conntrack: entries | 300 TIME_WAIT | 300 TIME_WAIT |  |"
    assert not table(pairs, 4)[1]
    assert not table([(replace(WHOLE, rate_cps=60.0), WHOLE)], 10)[1]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (replace(WHOLE, failed=1), "1 of 100 connections failed"),
        (replace(WHOLE, states={"TIME_WAIT": 99}), "the table has 99 TIME_WAIT for 100 connections"),
        (replace(WHOLE, counters={"invalid": 2, "drop": 0}), "conntrack counted 2 invalid"),
    ],
)
def test_a_turn_that_was_not_whole_is_told(bad: Turn, told: str) -> None:
    assert [*bad.problems()] == [told]
    assert not [*WHOLE.problems()]


def test_functions_that_differ_most_come_first() -> None:
    natxy = replace(WHOLE, executed=EXECUTED.model_copy(update={"functions": {"forward": 40_000, "wake": 1000}}))
    lines = [*parts([(natxy, WHOLE)], "function", Turn.functions, 2)]
    assert lines[2:] == ["| forward | 400 | 500 | -100 |", "| tick | -20 | 0 | -20 |"]
