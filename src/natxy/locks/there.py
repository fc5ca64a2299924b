# SPDX-License-Identifier: Apache-2.0
"""Reserves a machine behind ssh, a gateway's or a further tester's, on that machine itself, so that runs on several
machines respect each other.

flock(1) there has locked the root directory as long as the connection lasts: nothing is written, and nothing is left.
The directory's inode and the kernel's boot id tell whether two names lead to one lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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


@contextmanager
def exclusive_there(target: SshTarget, waiting: Callable[[], None], own: set[str]) -> Iterator[None]:
    """Reserves the machine until the context ends or the connection is lost; calls `waiting` when it has to wait.

    `own` has the locks that this session holds, of which it waits for none, and gets this one. A machine that cannot be
    reached is not reserved: what measures it says why.
    """
    with ExitStack() as held:
        tries_until = None
        while not _ends_waiting(held, target, waiting, own, patient=tries_until is not None):
            held.close()
            tries_until = tries_until or time.monotonic() + _BOOT_S
            if time.monotonic() > tries_until:
                break
            time.sleep(_AGAIN_S)
        yield


def _ends_waiting(
    held: ExitStack, target: SshTarget, waiting: Callable[[], None], own: set[str], *, patient: bool
) -> bool:
    """Reserves the machine as long as `held` lasts. Returns False when the connection was lost while this waited for
    another tester, or, if `patient`, when there is none: the other one has not ended, and the machine may boot."""
    try:
        transport = held.enter_context(SshTransport(target))
        line = held.enter_context(transport.lines(["sh", "-c", _LOCK]))
        lock = line()
        if lock == _NONE:
            return True
        if not lock or lock in own:
            held.close()
            return bool(lock) or not patient
        said = line()
        if said == _BUSY:
            waiting()
            said = line()
        if said == _HELD:
            own.add(lock)
        return said == _HELD
    except DutError:
        held.close()
        return not patient
