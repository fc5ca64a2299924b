# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import needs
from tools.beside_http import Made, Reading, entries, h2load_made, lone_step_ms, paces, resent_segments, whole
from tools.connection_turns_test import WHOLE


def test_a_turn_that_was_not_whole_is_measured_again() -> None:
    turns = [replace(WHOLE, failed=1), replace(WHOLE, failed=2), WHOLE, replace(WHOLE, failed=3)]
    assert whole(partial(next, iter(turns))) == WHOLE
    bad = [replace(WHOLE, failed=number) for number in range(1, 9)]
    assert whole(partial(next, iter(bad))).failed == 5


def test_a_reading_adds_both_sides_and_all_cores() -> None:
    text = "10\n20\n1000\n2000\ncpu=0 found=0 invalid=1 insert=0 insert_failed=0 drop=3\ncpu=1 invalid=2 drop=0\n"
    assert Reading.of(text) == Reading(30, 3000 + 4 * 30, {"invalid": 3, "insert_failed": 0, "drop": 3})


@pytest.mark.parametrize(
    ("rate_cps", "paced"), [(250, (1, 4)), (1000, (1, 1)), (3000, (3, 1)), (300, (3, 10)), (7, (7, 1000))]
)
def test_h2load_is_told_the_rate_in_whole_milliseconds(rate_cps: int, paced: tuple[int, int]) -> None:
    assert paces(rate_cps) == paced


@pytest.mark.parametrize("rate_cps", [7, 100, 250, 1000])
def test_no_frames_of_two_connections_are_due_together(rate_cps: int) -> None:
    step = rate_cps * lone_step_ms(rate_cps) / 1000
    assert step >= rate_cps * 0.05
    due = sorted(frame * step % 1 for frame in range(10))
    assert min(later - earlier for earlier, later in pairwise([*due, due[0] + 1])) > 0.05


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
