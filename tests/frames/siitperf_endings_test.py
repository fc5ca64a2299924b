# SPDX-License-Identifier: Apache-2.0
"""Tests where siitperf's own programs hang, fill the memory or end in another way than they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from natxy.system.ledger import Ledger
from natxy_siitperf.trial.ports import KEEP_OPEN
from tests.support import needs
from tests.support.processes import cpu_s, is_engine, runs
from tests.support.siitperf_confs import conf_text
from tests.support.timing import wait_until

# Each call holds a core, for which tests with a lab would wait.
pytestmark = [needs.ENGINE, pytest.mark.lab]

# Ports that take every frame and never receive one.
_PORTS: Final = {"NATXY_SIITPERF_LEFT": "net_null0,no-rx=1", "NATXY_SIITPERF_RIGHT": "net_null1,no-rx=1"}
_PROGRAM: Final = "from natxy_siitperf.trial.programs import throughput; throughput()"
_PATIENCE_S: Final = 60
_MOST_KIB: Final = 1 << 20


def started(arguments: str, conf: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    (folder / "siitperf.conf").write_text(conf, encoding="utf-8")
    command = [sys.executable, "-c", _PROGRAM, *arguments.split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=os.environ | _PORTS | environment, stdout=pipe, stderr=pipe, text=True
    )


def descended_from(folder: Path) -> set[int]:
    """Returns the processes that run with a folder for temporary files, which programs hand down to theirs."""
    mark = f"TMPDIR={folder}".encode()
    return {pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if mark in _environment(pid)}


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if runs(pid) else []
    except OSError:
        return []


@pytest.mark.parametrize("kept_open_s", ["0", "600"])
@pytest.mark.parametrize("in_the_middle", [False, True])
def test_nothing_stays_of_a_killed_program(tmp_path: Path, kept_open_s: str, in_the_middle: bool) -> None:
    """It is killed as soon as its engine starts, or while that sends."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary), KEEP_OPEN: kept_open_s}
    with started("84 1000 600 1000 2 2", conf_text("siit"), tmp_path, **environment) as process:
        assert process.stdout
        if in_the_middle:
            assert process.stdout.readline().startswith("Info: Testing initiated at ")
        wait_until(lambda: any(map(is_engine, descended_from(temporary))))
        if in_the_middle:
            # The line comes before the request. Without a trial an engine waits, and takes no time.
            engines = [*filter(is_engine, descended_from(temporary))]
            begun_s = sum(map(cpu_s, engines))
            wait_until(lambda: sum(map(cpu_s, engines)) > begun_s + 0.1)
        process.kill()
    wait_until(lambda: not descended_from(temporary))
    assert [*temporary.iterdir()] == []
    assert process.pid not in {entry.process().pid for entry in Ledger().entries()}


def test_a_failure_in_the_middle_ends_at_once_with_1(tmp_path: Path) -> None:
    with started("84 1000 600 1000 2 2", conf_text("siit"), tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Info: Testing initiated at ")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        (engine,) = (int(pid) for pid in children)
        os.kill(engine, 9)
        out, errors = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 1
    assert "frames" not in out
    (error,) = (line for line in errors.splitlines() if not line.startswith("natxy: "))
    assert error.startswith("Error: ")


def test_an_enumeration_of_billions_needs_no_memory(tmp_path: Path) -> None:
    """The 64,512·49,151 four-tuples of the default ranges are over 2³¹, and siitperf keeps each of them."""
    ranges = {"Fwd_sport_min": "1024", "Fwd_sport_max": "65535", "Fwd_dport_min": "1", "Fwd_dport_max": "49151"}
    process = started("84 1000 1 10 2 2 1000 1000 10000 10 200", conf_text("nat44", **ranges), tmp_path)
    with process:
        assert process.stdout
        lines = process.stdout.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    # A machine that pauses leaves some of the thousand unsent, and then their number is not printed.
    assert any(line.startswith("Info: Preliminary sender's sending took ") for line in lines), lines
    # Of the program and of its engine, whichever had more.
    assert usage.ru_maxrss < _MOST_KIB
