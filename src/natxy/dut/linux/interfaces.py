# SPDX-License-Identifier: Apache-2.0
"""Sets up network interfaces of a Linux machine: their addresses, their routes and the cores that process their frames.

Receive packet steering (RPS) selects the cores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.undone import undone
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, LinkMacs

INTERFACES: Final = Path("/sys/class/net")
_MERGING: Final = re.compile(
    r"^\s*((?:generic-receive|generic-segmentation|large-receive|tcp-segmentation)-offload): on", re.MULTILINE
)


def set_links(transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan) -> None:
    """Adds addresses and routes to all interfaces, and sets them up. Existing ones stay unchanged.

    DutError when iproute2 refuses something.
    """
    for interface, link in _links(interfaces, addresses):
        transport.run(["ip", "link", "set", interface, "up"])
        # An address under duplicate address detection does not forward yet.
        unchecked = ["nodad"] if link.dut.version == 6 else []
        transport.run(["ip", "address", "replace", str(link.dut), "dev", interface, *unchecked])
        # One call for all: there may be hundreds, and over ssh each call is a round trip.
        batch = "".join(f"{' '.join(route)}\n" for route in _routes("replace", interface, link))
        if transport.run(["ip", "-force", "-batch", "-"], input=batch, check=False).returncode != 0:
            # Repeated one by one, so that the error names the route that is refused.
            for route in _routes("replace", interface, link):
                transport.run(["ip", *route])


def unset_links(transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan) -> None:
    """Removes the addresses and routes; no error when there are none. The interfaces stay up.

    Each is removed from all interfaces: the DUT may have exchanged their names since.
    """
    batch = [
        " ".join(line)
        for interface in interfaces.names
        for _, link in _links(interfaces, addresses)
        for line in (*_routes("del", interface, link), ["address", "del", str(link.dut), "dev", interface])
    ]
    transport.run(["ip", "-force", "-batch", "-"], input="".join(f"{line}\n" for line in batch), check=False)


def add_neighbors(transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan, macs: LinkMacs) -> int:
    """Adds static entries for the tester's addresses on the links; returns how many. DutError when one is refused."""
    entries = [f"neigh replace {each} nud permanent" for each in _neighbors(interfaces, addresses, macs)]
    transport.run(["ip", "-batch", "-"], input="".join(f"{entry}\n" for entry in entries))
    return len(entries)


def remove_neighbors(transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan, macs: LinkMacs) -> None:
    """Removes the static entries; no error when there are none."""
    batch = "".join(f"neigh del {each}\n" for each in _neighbors(interfaces, addresses, macs))
    transport.run(["ip", "-force", "-batch", "-"], input=batch, check=False)


def _neighbors(interfaces: DutInterfaces, addresses: AddressPlan, macs: LinkMacs) -> Iterator[str]:
    for pair in addresses.pairs:
        sides = ((interfaces.left, pair.left, macs.left), (interfaces.right, pair.right, macs.right))
        for interface, link, mac in sides:
            yield from (f"{address} lladdr {mac} dev {interface}" for address in link.neighbors)


def _links(interfaces: DutInterfaces, addresses: AddressPlan) -> Iterator[tuple[str, LinkAddresses]]:
    first, *further = interfaces.pairs
    own = ((first, pair) for pair in addresses.pairs)
    for ends, pair in (*own, *zip(further, addresses.further, strict=True)):
        yield ends.left, pair.left
        yield ends.right, pair.right


def _routes(verb: str, interface: str, link: LinkAddresses) -> list[list[str]]:
    return [["route", verb, str(prefix), "via", str(link.tester.ip), "dev", interface] for prefix in link.routes]


def steer(transport: Transport, interfaces: DutInterfaces, cores: Collection[int]) -> None:
    """Steers the frames of all interfaces to `cores`."""
    for interface in interfaces.names:
        steer_interface(transport, interface, cores)


@contextmanager
def steered(transport: LocalTransport, interface: str, cores: Collection[int]) -> Iterator[None]:
    """Steers the frames of one interface to `cores` within the context."""
    before = {
        queue: transport.run(["cat", f"{queue}/rps_cpus"]).stdout.strip() for queue in _queues(transport, interface)
    }
    # An interface keeps its masks when it changes its network namespace.
    undo = (
        ("sh", "-c", f"[ ! -e {queue}/rps_cpus ] || echo {mask} > {queue}/rps_cpus") for queue, mask in before.items()
    )
    with undone(transport, f"the packet steering of {interface}", " ".join(before.values()), *undo):
        steer_interface(transport, interface, cores)
        yield


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
        for interface in interfaces.names
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


def disturbing_offloads(interface: str, machine: Transport) -> list[str]:
    """Returns ethtool's names of the offloads that are on and merge or split frames."""
    return parse_offloads(machine.run(["ethtool", "--show-features", interface], check=False).stdout)


def parse_offloads(features: str) -> list[str]:
    """Returns the names of these offloads in the output of `ethtool --show-features`."""
    return _MERGING.findall(features)
