# SPDX-License-Identifier: Apache-2.0
"""Tests the process that keeps the engine and its ports open between calls of siitperf's programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from natxy.plan.gateways.linux import LinuxForwardConfig
from tests.support import needs
from tests.support.lab_frames import namespace_of_tester
from tests.support.processes import runs
from tests.support.siitperf_bed import LINKS, Ended, SiitperfBed, router_conf, siitperf_bed
from tests.support.timing import wait_until
from tests.support.undisturbed import undisturbed

pytestmark = needs.LAB

CONF = router_conf()
LONG = {"NATXY_SIITPERF_KEEP_OPEN_S": "600"}
ARGUMENTS = "84 200 1 2000 2 2"


@pytest.fixture
def router(tmp_path: Path) -> Iterator[SiitperfBed]:
    with siitperf_bed(LINKS, LinuxForwardConfig(), tmp_path) as bed:
        yield bed


def in_tester(word: str) -> list[int]:
    """Returns the processes in the tester's namespace whose command line has a word."""
    pids = subprocess.run(
        ["ip", "netns", "pids", namespace_of_tester()], capture_output=True, text=True, check=True
    ).stdout.split()
    return [int(pid) for pid in pids if word in _command(int(pid)) and runs(int(pid))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def engines() -> list[int]:
    return [pid for pid in in_tester("natxy-engine") if "keep_open" not in _command(pid)]


def forwarded(router: SiitperfBed) -> int:
    """Returns how many frames the gateway has received on the left."""
    namespace = router.lab.description()["dut namespace"]
    counted = subprocess.run(
        ["ip", "-j", "-s", "-n", namespace, "link", "show", "dut-left"], capture_output=True, text=True, check=True
    ).stdout
    return int(json.loads(counted)[0]["stats64"]["rx"]["packets"])


def until_ended(*pids: int) -> None:
    wait_until(lambda: not any(map(runs, pids)))


def call(router: SiitperfBed, arguments: str = ARGUMENTS, **environment: str) -> None:
    """Calls siitperf-tp. Asserts that it receives all frames."""
    ended = undisturbed(lambda: router.run("tp", arguments, CONF, **environment), Ended.disturbance)
    assert ended.code == 0, ended
    for direction in ("Forward", "Reverse"):
        assert ended.number(f"{direction} frames received") == 200, ended


def test_the_engine_stays_from_one_call_to_the_next(router: SiitperfBed) -> None:
    """It stays when the ports are others too: a longer frame needs another MTU."""
    began = []
    for arguments in (ARGUMENTS, ARGUMENTS, "1538 200 1 2000 2 2"):
        call(router, arguments, **LONG)
        began.append(engines())
    assert len(began[0]) == 1
    assert began[0] == began[1] == began[2]
    (keeper,) = in_tester("keep_open")
    os.kill(keeper, signal.SIGKILL)
    until_ended(keeper, *began[0])
    call(router, **LONG)
    assert engines() != began[0]


def test_it_ends_when_nobody_calls(router: SiitperfBed) -> None:
    call(router, NATXY_SIITPERF_KEEP_OPEN_S="1")
    until_ended(*in_tester("keep_open"), *engines())
    call(router)
    assert in_tester("natxy-engine") == []


def test_a_killed_call_takes_the_engine_along(router: SiitperfBed) -> None:
    call(router, **LONG)
    before = [*in_tester("keep_open"), *engines()]
    assert len(before) == 2
    environment = {
        "NATXY_SIITPERF_LEFT": "left", "NATXY_SIITPERF_RIGHT": "right",
        "NATXY_SIITPERF_CORES": ",".join(map(str, router.lab.cores.tester)), **LONG,
    }  # fmt: skip
    code = "from natxy_siitperf.trial.programs import throughput; throughput()"
    inside = ["ip", "netns", "exec", namespace_of_tester()]
    with subprocess.Popen(
        [*inside, sys.executable, "-c", code, "84", "200", "600", "500", "2", "2"],
        cwd=router.folder, env=os.environ | environment, stdout=subprocess.DEVNULL,
    ) as killed:  # fmt: skip
        frames = forwarded(router)
        wait_until(lambda: forwarded(router) >= frames + 20 or killed.poll() is not None)
        assert killed.poll() is None
        killed.kill()
    until_ended(*before)
    call(router, **LONG)


def test_only_seconds_are_taken(router: SiitperfBed) -> None:
    ended = router.run("tp", ARGUMENTS, CONF, NATXY_SIITPERF_KEEP_OPEN_S="5 s")
    assert ended.code == 255
    assert "NATXY_SIITPERF_KEEP_OPEN_S is '5 s', expected 0 to 3600 seconds" in ended.errors[0]
