# SPDX-License-Identifier: Apache-2.0
"""Tests where siitperf's own programs hang, fill the memory or end in another way than they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support import needs
from tests.support.siitperf_confs import conf_text

pytestmark = needs.ENGINE

# Ports that take every frame and never receive one.
_PORTS: Final = {"NATXY_SIITPERF_LEFT": "net_null0,no-rx=1", "NATXY_SIITPERF_RIGHT": "net_null1,no-rx=1"}
_PROGRAM: Final = "from natxy.siitperf.trial.programs import throughput; throughput()"
_PATIENCE_S: Final = 60
_MOST_KIB: Final = 1 << 20


def started(arguments: str, conf: str, folder: Path) -> subprocess.Popen[str]:
    (folder / "siitperf.conf").write_text(conf, encoding="utf-8")
    command = [sys.executable, "-c", _PROGRAM, *arguments.split()]
    environment = os.environ | _PORTS
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


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
    (sent,) = (line for line in lines if line.startswith("Preliminary frames sent: "))
    # A machine that pauses leaves some of the thousand unsent.
    assert int(sent.rpartition(" ")[2]) > 0, lines
    # Of the program and of its engine, whichever had more.
    assert usage.ru_maxrss < _MOST_KIB
