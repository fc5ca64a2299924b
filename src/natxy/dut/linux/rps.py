# SPDX-License-Identifier: Apache-2.0
"""Receive packet steering: selects the cores on which a Linux kernel processes the frames of an interface."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport


def steer(transport: Transport, interfaces: DutInterfaces, cores: Collection[int]) -> None:
    """Steers the frames of both interfaces to `cores`."""
    for interface in (interfaces.left, interfaces.right):
        steer_interface(transport, interface, cores)


@contextmanager
def steered(transport: Transport, interface: str, cores: Collection[int]) -> Iterator[None]:
    """Steers the frames of one interface to `cores` within the context."""
    before = {
        queue: transport.run(["cat", f"{queue}/rps_cpus"]).stdout.strip() for queue in _queues(transport, interface)
    }
    try:
        steer_interface(transport, interface, cores)
        yield
    finally:
        for queue, mask in before.items():
            transport.run(["tee", f"{queue}/rps_cpus"], input=mask, check=False)


def steer_interface(transport: Transport, interface: str, cores: Iterable[int]) -> None:
    """Steers the frames of one interface to `cores`."""
    mask = cpu_mask(cores)
    for queue in _queues(transport, interface):
        transport.run(["tee", f"{queue}/rps_cpus"], input=mask)


def steered_to(transport: Transport, interfaces: DutInterfaces) -> str:
    """Returns the mask in force as the kernel prints it; empty for a kernel with one core, which has no mask."""
    queues = _queues(transport, interfaces.left)
    return transport.run(["cat", f"{queues[0]}/rps_cpus"], check=False).stdout.strip() if queues else ""


def napi_in_threads(transport: Transport, interfaces: DutInterfaces) -> list[str]:
    """Returns the interfaces with threaded NAPI, whose threads the scheduler places on any core."""
    return [
        interface
        for interface in (interfaces.left, interfaces.right)
        if transport.run(["cat", f"/sys/class/net/{interface}/threaded"], check=False).stdout.strip() == "1"
    ]


def cpu_mask(cores: Iterable[int]) -> str:
    """Returns a mask in the kernel's format: groups of 32 bits in hexadecimal, `1,00000002` for cores 1 and 32."""
    mask = sum(1 << core for core in set(cores))
    groups: list[int] = []
    while mask or not groups:
        groups.append(mask & 0xFFFFFFFF)
        mask >>= 32
    return ",".join([f"{groups[-1]:x}", *(f"{group:08x}" for group in reversed(groups[:-1]))])


def _queues(transport: Transport, interface: str) -> list[str]:
    folder = f"/sys/class/net/{interface}/queues"
    return [f"{folder}/{name}" for name in transport.run(["ls", folder]).stdout.split() if name.startswith("rx-")]
