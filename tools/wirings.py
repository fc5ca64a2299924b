# SPDX-License-Identifier: Apache-2.0
"""Ways that frames go after a sender has handed them over, the same for natxy and for testpmd.

Each is a context for one sender, because a receiving testpmd may not outlive its sender. They are given the core of who
receives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from natxy.lab.loop import LoopTestbed
from natxy.lab.namespaces import prepare_machine
from natxy.plan.loop import LoopConfig
from tools.testpmd import forwarding

DRAIN: Final = Path("build/engine/drain.so")


@dataclass(frozen=True)
class Wiring:
    """`prefix`: a command before either sender's. `arguments` are natxy's, `environment` is testpmd's: who fetches what
    the device hands back."""

    device: str
    prefix: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def net_ring(receiver: int) -> Iterator[Wiring]:
    device = "net_ring0"
    drained = {"LD_PRELOAD": str(DRAIN.absolute()), "DRAIN_PORT": device, "DRAIN_CPU": str(receiver)}
    yield Wiring(device, arguments=(str(receiver),), environment=drained)


@contextmanager
def net_memif(receiver: int) -> Iterator[Wiring]:
    """The other side is a testpmd that only receives."""
    with TemporaryDirectory(prefix="natxy-bench-") as folder:
        device = f"net_memif0,id=0,socket={folder}/memif.sock,socket-abstract=no,role="
        with forwarding("rxonly", device + "server", receiver, receiver):
            yield Wiring(device + "client")


@contextmanager
def veth(_: int) -> Iterator[Wiring]:
    """The kernel throws away what arrives at the other end. Needs root."""
    prepare_machine()
    with LoopTestbed(LoopConfig(kind="loop")) as testbed:
        namespace = tuple(testbed.engine_argv()[:4])
        yield Wiring(testbed.port_specs()[0].device, prefix=namespace)
