# SPDX-License-Identifier: Apache-2.0
"""Reserves a gateway's machine behind ssh on that machine itself, so that several testers respect each other.

flock(1) there has locked the root directory as long as the connection lasts: nothing is written, and nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError
from natxy.plan.testbeds.machines import SshTarget

_BUSY: Final = "busy"
# A system without flock(1) has no lock.
_LOCK: Final = (
    "command -v flock >/dev/null || { echo none; exec cat; }; "
    f"exec 9</; flock -n 9 || {{ echo {_BUSY}; flock 9; }}; echo held; exec cat"
)


@contextmanager
def exclusive_there(target: SshTarget, waiting: Callable[[], None]) -> Iterator[None]:
    """Reserves the machine until the context ends or the connection is lost; calls `waiting` when it has to wait.

    A machine that cannot be reached is not reserved: what measures it says why.
    """
    with ExitStack() as held:
        try:
            transport = held.enter_context(SshTransport(target))
            line = held.enter_context(transport.lines(["sh", "-c", _LOCK]))
            if line() == _BUSY:
                waiting()
                line()
        except DutError:
            held.close()
        yield
