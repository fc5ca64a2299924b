# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner
from natxy.system.programs import OWNER_VARIABLE, end_programs_of, end_session, owned_programs
from tests.support.command import HANG_S
from tests.support.processes import runs
from tests.support.timing import wait_until

ME = Owner.current()
SLEEP = "sleep 600"


def started(script: str) -> tuple[subprocess.Popen[str], int]:
    """Returns a shell and the id of the process that its script starts in the background."""
    command = ["sh", "-c", f"{script} & echo $!; {SLEEP}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_every_process_group_of_a_session_ends() -> None:
    # Without a terminal, not every shell gives a job a group of its own.
    own_group = f"import os; os.setpgid(0, 0); os.execvp('sleep', {SLEEP.split()})"
    process, child = started(f'exec {sys.executable} -c "{own_group}"')
    with process:
        wait_until(lambda: os.getpgid(child) == child)
        end_session(process.pid)
        assert not runs(child)
        assert process.wait(HANG_S) == -signal.SIGKILL


def test_what_left_its_session_ends_with_its_owner(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with owned_programs(ledger):
        assert [entry.kind for entry in ledger.entries()] == [Kind.PROGRAMS]
        process, child = started(f"exec setsid {SLEEP}")
    assert OWNER_VARIABLE not in os.environ or os.environ[OWNER_VARIABLE] != str(ME)
    assert ledger.entries() == []
    with process:
        wait_until(lambda: os.getsid(child) != process.pid)
        end_programs_of(ME, spared={child})
        assert process.wait(HANG_S) == -signal.SIGKILL
        assert runs(child)
        end_programs_of(ME, spared=set())
        assert not runs(child)


def test_a_context_within_another_leaves_it_as_it_is(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with owned_programs(ledger):
        entries = ledger.entries()
        with owned_programs(ledger):
            assert ledger.entries() == entries
        assert ledger.entries() == entries
        assert os.environ[OWNER_VARIABLE] == str(ME)
    assert ledger.entries() == []


def test_programs_of_others_go_on(tmp_path: Path) -> None:
    with owned_programs(Ledger(tmp_path)):
        process, child = started(SLEEP)
    with process:
        end_programs_of(Owner(ME.pid, ME.start_ticks + 1), spared=set())
        assert runs(child)
        end_session(process.pid)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_an_error_leaves_no_entry(tmp_path: Path, error: type[BaseException] | None) -> None:
    before = os.environ.get(OWNER_VARIABLE)
    try:
        with owned_programs(Ledger(tmp_path)):
            if error:
                raise error
    except KeyboardInterrupt:
        pass
    assert Ledger(tmp_path).entries() == []
    assert os.environ.get(OWNER_VARIABLE) == before
