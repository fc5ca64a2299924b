# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from natxy.results.dut_load import InstructionCount
from tests.support import needs
from tools.beside_http import Made, Reading, Turn, entries, h2load_made, paces, parts, resent_segments, table, whole

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


def test_a_turn_that_was_not_whole_is_measured_again() -> None:
    turns = [replace(WHOLE, failed=1), replace(WHOLE, failed=2), WHOLE, replace(WHOLE, failed=3)]
    assert whole(partial(next, iter(turns))) == WHOLE
    bad = [replace(WHOLE, failed=number) for number in range(1, 9)]
    assert whole(partial(next, iter(bad))).failed == 5


def test_functions_that_differ_most_come_first() -> None:
    natxy = replace(WHOLE, executed=EXECUTED.model_copy(update={"functions": {"forward": 40_000, "wake": 1000}}))
    lines = [*parts([(natxy, WHOLE)], "function", Turn.functions, 2)]
    assert lines[2:] == ["| forward | 400 | 500 | -100 |", "| tick | -20 | 0 | -20 |"]


def test_a_reading_adds_both_sides_and_all_cores() -> None:
    text = "10\n20\n1000\n2000\ncpu=0 found=0 invalid=1 insert=0 insert_failed=0 drop=3\ncpu=1 invalid=2 drop=0\n"
    assert Reading.of(text) == Reading(30, 3000 + 4 * 30, {"invalid": 3, "insert_failed": 0, "drop": 3})


@pytest.mark.parametrize(
    ("rate_cps", "paced"), [(250, (1, 4)), (1000, (1, 1)), (3000, (3, 1)), (300, (3, 10)), (7, (7, 1000))]
)
def test_h2load_is_told_the_rate_in_whole_milliseconds(rate_cps: int, paced: tuple[int, int]) -> None:
    assert paces(rate_cps) == paced


@pytest.mark.parametrize(("took", "rate_cps"), [("2.00s", 49.0), ("500.00ms", 196.0)])
def test_what_h2load_made_is_read(took: str, rate_cps: float) -> None:
    printed = (
        f"finished in {took}, 49.00 req/s, 10.33KB/s\n"
        "requests: 100 total, 100 started, 100 done, 98 succeeded, 2 failed, 2 errored, 0 timeout\n"
    )
    assert h2load_made(printed, 100) == Made(failed=2, rate_cps=rate_cps)


def test_segments_sent_again_are_read() -> None:
    assert resent_segments("Ip: Forwarding\nIp: 1\nTcp: InSegs RetransSegs InErrs\nTcp: 40 3 0\n") == 3


def test_natxys_own_ssh_is_no_connection_of_the_traffic() -> None:
    printed = (
        "tcp      6 118 TIME_WAIT src=10.0.0.2 dst=198.19.0.2 sport=40000 dport=80 src=198.19.0.2 [ASSURED] use=1\n"
        "tcp      6 299 ESTABLISHED src=169.254.77.2 dst=169.254.77.15 sport=50000 dport=22 src=169.254.77.15 use=1\n"
    )
    assert entries(printed) == {"TIME_WAIT": 1}


@pytest.mark.lab
@pytest.mark.built
@pytest.mark.long
@needs.NAMESPACES
@needs.ENGINE
@needs.TUN
@needs.programs("h2load", "nginx", "iperf3")
def test_both_make_whole_connections_through_the_virtual_machine(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    root = Path(__file__).parent.parent
    # On a busy machine h2load falls behind its rate.
    argv = [sys.executable, "-m", "tools.beside_http", str(tmp_path / "beside"), "--apart", "1000"]
    done = subprocess.run(
        [*argv, "--rate", "100", "--seconds", "5", "--repeat", "3"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"},
        capture_output=True,
        text=True,
        check=False,
    )
    record_property("beside h2load", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| conntrack: entries | 1500 TIME_WAIT | 1500 TIME_WAIT |" in done.stdout
    [of_frame] = re.findall(r"instructions of a frame .* ([\d.]+) \[", done.stdout)
    assert float(of_frame) == pytest.approx(1, abs=0.15)
