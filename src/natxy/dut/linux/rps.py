# SPDX-License-Identifier: Apache-2.0
"""On which cores a Linux kernel does the work of the frames that an interface receives: receive packet steering."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport


def steer(transport: Transport, interfaces: DutInterfaces, cores: Collection[int]) -> None:
    for interface in (interfaces.left, interfaces.right):
        steer_interface(transport, interface, cores)


@contextmanager
def steered(transport: Transport, interface: str, cores: Collection[int]) -> Iterator[None]:
    """Until the context is left; then as before."""
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
    mask = cpu_mask(cores)
    for queue in _queues(transport, interface):
        transport.run(["tee", f"{queue}/rps_cpus"], input=mask)


def steered_to(transport: Transport, interfaces: DutInterfaces) -> str:
    """The mask in force, in the kernel's words; empty for a kernel of one core, which has none."""
    queues = _queues(transport, interfaces.left)
    return transport.run(["cat", f"{queues[0]}/rps_cpus"], check=False).stdout.strip() if queues else ""


def napi_in_threads(transport: Transport, interfaces: DutInterfaces) -> list[str]:
    """The interfaces whose frames are fetched by threads, which the scheduler places (threaded NAPI)."""
    return [
        interface
        for interface in (interfaces.left, interfaces.right)
        if transport.run(["cat", f"/sys/class/net/{interface}/threaded"], check=False).stdout.strip() == "1"
    ]


def cpu_mask(cores: Iterable[int]) -> str:
    """As the kernel writes masks: hexadecimal, in groups of 32 bits, for example `1,00000002` for cores 1 and 32."""
    mask = sum(1 << core for core in set(cores))
    groups: list[int] = []
    while mask or not groups:
        groups.append(mask & 0xFFFFFFFF)
        mask >>= 32
    return ",".join([f"{groups[-1]:x}", *(f"{group:08x}" for group in reversed(groups[:-1]))])


def _queues(transport: Transport, interface: str) -> list[str]:
    folder = f"/sys/class/net/{interface}/queues"
    return [f"{folder}/{name}" for name in transport.run(["ls", folder]).stdout.split() if name.startswith("rx-")]
