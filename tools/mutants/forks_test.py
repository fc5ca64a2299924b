# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.command import HANG_S
from tests.support.timing import wait_until
from tools.mutants import forks
from tools.mutants.forks import FAILED, PASSED, TOO_LONG, Job, in_forks


def is_alive(pid: int) -> bool:
    """Returns whether a process runs still. Nobody may have waited yet for one that was killed."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_every_job_ends_with_its_code() -> None:
    jobs = [Job(number, partial(int, number), most_cpu_s=10) for number in (0, 1, 5)]
    assert dict(in_forks(jobs, at_once=2)) == {0: 0, 1: 1, 5: 5}


def test_a_job_that_computes_or_waits_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    # Beside other programs, a job may get less than a tenth of a core.
    monkeypatch.setattr(forks, "_WAITS", HANG_S)

    def computes() -> int:
        while True:
            pass

    def waits() -> int:
        time.sleep(1e6)
        return 0

    ends = dict(in_forks([Job("computes", computes, 1), Job("waits", waits, 0.001)], at_once=2))
    assert {*ends.values()} == {*TOO_LONG}


def test_nothing_that_a_job_started_is_left(tmp_path: Path) -> None:
    def starts() -> int:
        sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1e6)"])
        (tmp_path / "pid").write_text(str(sleeping.pid))
        return 0

    assert [*in_forks([Job("starts", starts, 10)], 1)] == [("starts", 0)]
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(pid))


def test_a_job_that_breaks_is_no_killed_mutant(tmp_path: Path) -> None:
    def breaks() -> int:
        raise OSError("no space")

    log = tmp_path / "log"
    with pytest.raises(RuntimeError, match="could not run for breaks"):
        [*in_forks([Job("breaks", breaks, 10, log)], 1)]
    assert "no space" in log.read_text()


def test_a_job_that_runs_out_of_memory_is_no_killed_mutant_either() -> None:
    def fills() -> int:
        raise MemoryError

    [(_, code)] = in_forks([Job("fills", fills, 10)], 1)
    assert code not in (*PASSED, *FAILED, *TOO_LONG)
