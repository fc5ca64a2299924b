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
_WAIT: Final = "flock 9"
# sshd leaves a program without a terminal behind when its connection ends: who tries often must not wait there.
_GIVE_UP: Final = "exit"
# A system without flock(1) has no lock; an empty line would say that the connection has ended.
_LOCK: Final = (
    f"command -v flock >/dev/null || {{ echo {_NONE}; exec cat; }}; "
    'echo "at $(stat -c %d:%i /) $(cat /proc/sys/kernel/random/boot_id)"; '
    f"exec 9</; flock -n 9 || {{ echo {_BUSY}; $if_busy; }}; echo {_HELD}; exec cat"
)
# A machine that boots while others wait for it answers again within this time.
_BOOT_S: Final = 600.0
_AGAIN_S: Final = 2.0
# Another run may hold it for hours, and so may sshd there, until it notices that a connection is dead.
_BUSY_AGAIN_S: Final = 60.0
# Until then the one that had a machine before it booted has noticed that it answers again.
_OWNER_FIRST_S: Final = 30.0
# sshd may begin to answer a minute after the kernel has started. Systems without this file have no flock(1) either.
_HAS_JUST_BOOTED: Final = '[ "$(cut -d. -f1 /proc/uptime 2>/dev/null)" -lt 120 ] 2>/dev/null'


class _Lock:
    """Holds the lock of a machine as long as a connection lasts."""

    def __init__(self, target: SshTarget) -> None:
        self._target = target
        self._opened = ExitStack()
        self._transport: SshTransport | None = None
        self.is_held = False
        self.seen_busy_s: float | None = None
        """When another run was last known to hold it, by the monotonic clock."""

    @property
    def is_lost(self) -> bool:
        return self._transport is None or not self._transport.is_connected

    def ask(self, *, first: str = ":", if_busy: str = _WAIT) -> Callable[[], str]:
        """Runs a command there and asks for the lock; returns what waits for the next line of the answer. Raises
        DutError without a connection."""
        self.end()
        script = f"{first}; {_LOCK}".replace("$if_busy", if_busy)
        self._transport = self._opened.enter_context(SshTransport(self._target))
        return self._opened.enter_context(self._transport.lines(["sh", "-c", script]))

    def take_again(self) -> str:
        """Takes the lock if the machine answers and nobody else has it; returns the answer, empty without one."""
        said = ""
        with suppress(DutError):
            line = self.ask(if_busy=_GIVE_UP)
            line()
            said = line()
        if said != _HELD:
            self.end()
        return said

    def end(self) -> None:
        self._transport = None
        self._opened.close()


@contextmanager
def exclusive_there(
    target: SshTarget, waiting: Callable[[], None], lost: Callable[[], None], own: set[str]
) -> Iterator[None]:
    """Reserves the machine until the context ends; calls `waiting` when it has to wait, and `lost`, in a thread, when
    the connection was lost and somebody has the lock by then.

    `own` has the locks that this session holds, of which it waits for none, and gets this one. A machine that cannot be
    reached is not reserved: what measures it says why. Raises DutError when one that another run held does not answer
    any more.
    """
    lock = _Lock(target)
    try:
        while not _ends_waiting(lock, waiting, own):
            if lock.seen_busy_s is not None and time.monotonic() > lock.seen_busy_s + _BOOT_S:
                raise DutError(
                    f"{target} has not answered for {_BOOT_S:g} s, and another run held it before: look whether it is "
                    "up, and begin again when that run has ended"
                )
            time.sleep(_AGAIN_S)
        with _kept(lock, lost) if lock.is_held else nullcontext():
            yield
    finally:
        lock.end()


@contextmanager
def _kept(lock: _Lock, lost: Callable[[], None]) -> Iterator[None]:
    """Takes a lock again whenever its connection is lost; calls `lost`, once for each loss, when somebody has it."""
    ended = threading.Event()

    def keep() -> None:
        is_told = False
        again_s = _AGAIN_S
        while not ended.wait(again_s):
            again_s = _AGAIN_S
            if not lock.is_lost:
                is_told = False
            elif lock.take_again() == _BUSY:
                again_s = _BUSY_AGAIN_S
                if not is_told:
                    is_told = True
                    lost()

    thread = threading.Thread(target=keep, name="lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ends_waiting(lock: _Lock, waiting: Callable[[], None], own: set[str]) -> bool:
    """Reserves the machine. Returns False without an answer once there was a run that holds it: that has not ended, and
    the machine may boot."""
    later = f"sleep {_OWNER_FIRST_S:g}"
    with suppress(DutError):
        line = lock.ask(first=f"{_HAS_JUST_BOOTED} && {later}" if lock.seen_busy_s is None else later)
        place = line()
        if place == _NONE:
            return True
        if place in own:
            lock.end()
            return True
        said = line()
        if said == _BUSY:
            waiting()
            said = line()
            lock.seen_busy_s = time.monotonic()
        if said == _HELD:
            own.add(place)
            lock.is_held = True
            return True
    lock.end()
    return lock.seen_busy_s is None
