# SPDX-License-Identifier: Apache-2.0
"""Sets up destinations for a sender's frames, the same for natxy and for testpmd.

Each is a context for one sender, because a receiving testpmd may not outlive its sender. Takes the testpmd that may
receive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from natxy.plan.testbeds.loop import LoopConfig
from natxy.system.temporary_folder import temporary_folder
from natxy.testbeds.loop import LoopTestbed
from tools.bench.testpmd import NOWHERE, Testpmd, Wiring

DRAIN: Final = Path("build/engine/drain.so")

Way = Callable[[Testpmd], AbstractContextManager[Wiring]]


@contextmanager
def nowhere(_: Testpmd) -> Iterator[Wiring]:
    """The port drops what it sends."""
    yield NOWHERE


@contextmanager
def endless(_: Testpmd) -> Iterator[Wiring]:
    """The port also receives as many frames as are polled."""
    yield Wiring("net_null0")


@contextmanager
def net_ring(receiver: Testpmd) -> Iterator[Wiring]:
    """A thread of the sender's process on the receiver's core drains the ring."""
    device = "net_ring0"
    drained = {"LD_PRELOAD": str(DRAIN.absolute()), "DRAIN_PORT": device, "DRAIN_CPU": str(receiver.core)}
    yield Wiring(device, arguments=(str(receiver.core),), environment=drained)


@contextmanager
def net_memif(receiver: Testpmd) -> Iterator[Wiring]:
    with temporary_folder("natxy-bench-") as folder:
        device = f"net_memif0,id=0,socket={folder}/memif.sock,socket-abstract=no,role="
        with receiver.forwarding("rxonly", Wiring(device + "server")):
            yield Wiring(device + "client")


@contextmanager
def veth(_: Testpmd) -> Iterator[Wiring]:
    """The kernel drops what arrives at the other end. Needs root."""
    with LoopTestbed(LoopConfig(kind="loop")) as testbed:
        namespace = tuple(testbed.engine_argv()[:4])
        yield Wiring(testbed.port_specs()[0].device, prefix=namespace)
