# SPDX-License-Identifier: Apache-2.0
"""Reserves a machine behind ssh, a gateway's or a further tester's, on that machine itself, so that runs on several
machines respect each other.

flock(1) there has locked the root directory as long as the connection lasts: nothing is written, and nothing is left.
The directory's inode and the kernel's boot id tell whether two names lead to one lock. A machine that boots, perhaps
because its run wants another kernel, is taken again before those who wait may have it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Final

from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError
from natxy.plan.testbeds.machines import SshTarget

_NONE: Final = "none"
_BUSY: Final = "busy"
_HELD: Final = "held"
# A system without flock(1) has no lock; an empty line would say that the connection has ended.
_LOCK: Final = (
    f"command -v flock >/dev/null || {{ echo {_NONE}; exec cat; }}; "
    'echo "at $(stat -c %d:%i /) $(cat /proc/sys/kernel/random/boot_id)"; '
    f"exec 9</; flock -n 9 || {{ echo {_BUSY}; flock 9; }}; echo {_HELD}; exec cat"
)
# A machine that boots while others wait for it answers again within this time.
_BOOT_S: Final = 600.0
_AGAIN_S: Final = 2.0
# Until then the one that had a machine before it booted has noticed that it answers again.
_OWNER_FIRST_S: Final = 30.0


class _Lock:
    """Holds the lock of a machine as long as a connection lasts."""

    def __init__(self, target: SshTarget) -> None:
        self._target = target
        self._opened = ExitStack()
        self._transport: SshTransport | None = None
        self.is_held = False

    @property
    def is_lost(self) -> bool:
        return self._transport is None or not self._transport.is_connected

    def ask(self, *, after_s: float = 0.0) -> Callable[[], str]:
        """Asks for the lock; returns what waits for the next line of the answer. Raises DutError without a
        connection."""
        self.end()
        self._transport = self._opened.enter_context(SshTransport(self._target))
        return self._opened.enter_context(self._transport.lines(["sh", "-c", f"sleep {after_s:g}; {_LOCK}"]))

    def take_again(self) -> None:
        """Takes the lock if the machine answers and nobody else has it."""
        with suppress(DutError):
            line = self.ask()
            line()
            if line() == _HELD:
                return
        self.end()

    def end(self) -> None:
        self._transport = None
        self._opened.close()


@contextmanager
def exclusive_there(target: SshTarget, waiting: Callable[[], None], own: set[str]) -> Iterator[None]:
    """Reserves the machine until the context ends; calls `waiting` when it has to wait.

    `own` has the locks that this session holds, of which it waits for none, and gets this one. A machine that cannot be
    reached is not reserved: what measures it says why.
    """
    lock = _Lock(target)
    try:
        tries_until = None
        while not _ends_waiting(lock, waiting, own, patient=tries_until is not None):
            lock.end()
            tries_until = tries_until or time.monotonic() + _BOOT_S
            if time.monotonic() > tries_until:
                break
            time.sleep(_AGAIN_S)
        with _kept(lock) if lock.is_held else nullcontext():
            yield
    finally:
        lock.end()


@contextmanager
def _kept(lock: _Lock) -> Iterator[None]:
    """Takes a lock again whenever its connection is lost."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(_AGAIN_S):
            if lock.is_lost:
                lock.take_again()

    thread = threading.Thread(target=keep, name="lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ends_waiting(lock: _Lock, waiting: Callable[[], None], own: set[str], *, patient: bool) -> bool:
    """Reserves the machine. Returns False when the connection was lost while this waited for another tester, or, if
    `patient`, when there is none: the other one has not ended, and the machine may boot."""
    try:
        line = lock.ask(after_s=_OWNER_FIRST_S if patient else 0.0)
        place = line()
        if place == _NONE:
            return True
        if not place or place in own:
            lock.end()
            return bool(place) or not patient
        said = line()
        if said == _BUSY:
            waiting()
            said = line()
        if said == _HELD:
            own.add(place)
            lock.is_held = True
        return lock.is_held
    except DutError:
        lock.end()
        return not patient
