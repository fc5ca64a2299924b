# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from natxy.system.autogroup import autogroup_of, find_autogroup, own_autogroup
from natxy.system.ledger import Kind, Ledger
from natxy.system.niceness import Niceness
from natxy.system.process_owner import Owner

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
grouped = pytest.mark.skipif(own_autogroup() is None, reason="the kernel groups no processes by session")

# Prints the nice values of the process and of its session: before, in the middle, and at the end.
SCRIPT = """
import os, sys
from pathlib import Path
from natxy.system.autogroup import own_autogroup
from natxy.system.ledger import Ledger
from natxy.system.niceness import Niceness

def show():
    print(os.getpriority(os.PRIO_PROCESS, 0), own_autogroup().niceness)

own_autogroup().set(int(sys.argv[2]))
show()
own = Niceness(-20, ledger=Ledger(Path(sys.argv[1])))
with own.foreground():
    show()
show()
own.end()
show()
"""


def in_a_session_of_its_own(test: Callable[[Path], None]) -> Callable[[Path], None]:
    """Runs a test in a child, whose session no other test's natxy changes."""

    def run(tmp_path: Path) -> None:
        os.setsid()
        test(tmp_path)

    @functools.wraps(test)
    def in_child(tmp_path: Path) -> None:
        child = multiprocessing.get_context("fork").Process(target=run, args=(tmp_path,))
        child.start()
        child.join()
        assert child.exitcode == 0

    return in_child


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


@root
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@in_a_session_of_its_own
def test_the_foreground_has_the_original_priority_and_all_cores(tmp_path: Path) -> None:
    before, cores = niceness(), os.sched_getaffinity(0)
    avoided = min(cores)
    own = Niceness(ledger=Ledger(tmp_path))
    try:
        assert niceness() == 19
        with own.foreground():
            own.avoid([avoided])
            assert (niceness(), os.sched_getaffinity(0)) == (before, cores)
        assert (niceness(), os.sched_getaffinity(0)) == (19, cores - {avoided})
        own.avoid(cores)
        with own.foreground():
            pass
        assert os.sched_getaffinity(0) == cores, "with every core to avoid it stays where it is"
    finally:
        own.end()
    assert (niceness(), os.sched_getaffinity(0)) == (before, cores)


@root
@grouped
@pytest.mark.parametrize("sessions", [0, 5])
def test_the_process_and_its_session_each_keep_their_own_nice_value(tmp_path: Path, sessions: int) -> None:
    command = ["setsid", "-w", "nice", "-n", "5", sys.executable, "-c", SCRIPT, str(tmp_path), str(sessions)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own = min(5 + niceness(), 19)
    assert [tuple(map(int, line.split())) for line in done.stdout.splitlines()] == [
        (own, sessions),
        (own, sessions),
        (-20, -20),
        (own, sessions),
    ]
    assert Ledger(tmp_path).entries() == []


@root
@grouped
@in_a_session_of_its_own
def test_the_session_has_an_entry_with_the_value_from_before(tmp_path: Path) -> None:
    group = own_autogroup()
    assert group is not None
    own = Niceness(ledger=Ledger(tmp_path))
    try:
        (entry,) = Ledger(tmp_path).entries()
        assert (entry.kind, entry.what, entry.original) == (Kind.PRIORITY, group.name, str(group.niceness))
        assert entry.process() == Owner.current()
        found = find_autogroup(group.name)
        assert found is not None
        assert found.niceness == 19
    finally:
        own.end()


@root
@grouped
@in_a_session_of_its_own
def test_the_session_keeps_its_nice_value_while_another_run_is_in_it(tmp_path: Path) -> None:
    group = own_autogroup()
    assert group is not None
    own = Niceness(ledger=Ledger(tmp_path))
    others_ledger = Ledger(tmp_path, Owner(os.getpid() + 1, 1))
    others = others_ledger.add(Kind.PRIORITY, group.name, before=str)
    own.end()
    found = own_autogroup()
    assert found is not None
    try:
        assert (others.original, found.niceness) == (str(group.niceness), 19)
    finally:
        group.set(group.niceness)


def test_an_inactive_one_changes_and_records_nothing(tmp_path: Path) -> None:
    before = niceness()
    own = Niceness(active=False, ledger=Ledger(tmp_path))
    assert niceness() == before
    assert Ledger(tmp_path).entries() == []
    own.end()


@root
@grouped
@in_a_session_of_its_own
def test_the_session_of_another_process_is_given_a_value(tmp_path: Path) -> None:
    own, process = own_autogroup(), subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        session = autogroup_of(process.pid)
        assert session is not None
        session.set(-7)
        found = autogroup_of(process.pid)
        assert found is not None
        assert found.niceness == -7
        assert own_autogroup() == own
    finally:
        process.kill()
        process.wait()
    assert autogroup_of(process.pid) is None


def test_a_session_that_is_gone_is_not_found() -> None:
    assert find_autogroup("autogroup-0") is None
