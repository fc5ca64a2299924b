# SPDX-License-Identifier: Apache-2.0
"""Sets the size of a Linux gateway's table of neighbours (ARP and neighbour discovery), and static entries in it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.interfaces import add_neighbors, remove_neighbors
from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import AddressPlan, LinkMacs

# Below its gc_thresh1, by default 128, the kernel removes no entry.
_FEW: Final = 100
# gc_thresh3 is the size. Above gc_thresh2 the kernel removes entries that have not been used for 5 s.
_THRESHOLDS: Final = ("gc_thresh3", "gc_thresh2", "gc_thresh1")


class NeighborTable:
    """Makes the table large enough for the hosts on the links, and adds static entries for them if their MAC addresses
    are known. The size exists once for the whole machine."""

    def __init__(
        self, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan, macs: LinkMacs | None
    ) -> None:
        self._transport = transport
        self._interfaces = interfaces
        self._addresses = addresses
        self._macs = macs
        links = [link for pair in addresses.pairs for link in (pair.left, pair.right)]
        hosts = sum(link.on_link for link in links)
        versions = {link.dut.version for link in links if link.on_link} if hosts > _FEW else set()
        # Twice as many, because the tables of all namespaces share the size.
        self._least = 2 * hosts + 1024
        self._names = [f"net.ipv{version}.neigh.default.{name}" for version in sorted(versions) for name in _THRESHOLDS]
        self._sizes: dict[str, str] = {}

    def apply(self) -> None:
        """Makes the sizes sufficient and adds the entries. DutError when the kernel refuses."""
        for name in self._names:
            size = self._transport.machine.read(name)
            # A larger one may be what others need. It is held too, lest another run's end makes it smaller.
            enough = size if size.isdecimal() and int(size) >= self._least else str(self._least)
            self._transport.machine.hold(name, enough)
            self._sizes[name] = enough
        if self._macs:
            add_neighbors(self._transport, self._interfaces, self._addresses, self._macs)

    def remove(self) -> None:
        """Removes the entries and restores the sizes; no error when there is nothing to undo."""
        with ExitStack() as stack:
            for name in self._names:
                stack.callback(self._transport.machine.release, name)
            if self._macs:
                remove_neighbors(self._transport, self._interfaces, self._addresses, self._macs)

    def describe(self) -> dict[str, str]:
        """Returns the settings in force for the plan, by their names."""
        static = {"static neighbours": f"{self._macs.left} and {self._macs.right}"} if self._macs else {}
        return self._sizes | static
