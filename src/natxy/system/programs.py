# SPDX-License-Identifier: Apache-2.0
"""Ends programs with everything that they started: those of a session, and those of a natxy that was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from natxy.errors import DutError
from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner

# Programs inherit it, daemons included, and the kernel shows it for each process.
OWNER_VARIABLE: Final = "NATXY_OWNER"
_END_S: Final = 5.0


@contextmanager
def owned_programs(ledger: Ledger) -> Iterator[None]:
    """Marks the programs that this process starts within the context, and records that they have to end with it.

    A context within another one changes nothing.
    """
    before = os.environ.get(OWNER_VARIABLE)
    owner = Owner.current()
    if before == str(owner):
        yield
        return
    entry = ledger.add(Kind.PROGRAMS, f"the programs of process {owner.pid}")
    os.environ[OWNER_VARIABLE] = str(owner)
    try:
        yield
    finally:
        os.environ.pop(OWNER_VARIABLE)
        if before is not None:
            os.environ[OWNER_VARIABLE] = before
        ledger.remove(entry)


def end_programs_of(owner: Owner, spared: set[int]) -> None:
    """Kills the programs that a natxy started and that still run, other than those with the ids `spared`.

    Raises DutError when one does not end.
    """
    mark = f"{OWNER_VARIABLE}={owner}".encode()

    def belongs(pid: int) -> bool:
        return pid not in spared and mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")

    _end(belongs)


def end_session(leader: int) -> None:
    """Kills every process of the session that `leader` began, process groups of its own included."""
    _end(lambda pid: os.getsid(pid) == leader)


def _end(belongs: Callable[[int], bool]) -> None:
    deadline = time.monotonic() + _END_S
    while running := [pid for pid in _processes() if _holds(belongs, pid) and not _has_ended(pid)]:
        if time.monotonic() > deadline:
            raise DutError(f"the processes {', '.join(map(str, running))} cannot be ended")
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and int(entry) != os.getpid()]


def _holds(belongs: Callable[[int], bool], pid: int) -> bool:
    try:
        return belongs(pid)
    except OSError:
        # It has ended meanwhile, or is another user's.
        return False


def _has_ended(pid: int) -> bool:
    """Returns True for a process that is gone, or that only waits for its parent to ask for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
