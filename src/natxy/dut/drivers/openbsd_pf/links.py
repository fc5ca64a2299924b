# SPDX-License-Identifier: Apache-2.0
"""Sets the addresses, routes and static neighbours of an OpenBSD DUT's two interfaces."""

from __future__ import annotations

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import AddressPlan, IPInterface, IPNetwork, LinkMacs


class OpenbsdLinks:
    """Configures both interfaces until the next reboot. With `neighbors` None, addresses are resolved."""

    def __init__(
        self, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan, neighbors: LinkMacs | None
    ) -> None:
        self._transport = transport
        self._sides = ((interfaces.left, addresses.left), (interfaces.right, addresses.right))
        sides = ((addresses.left, neighbors.left), (addresses.right, neighbors.right)) if neighbors else ()
        self._neighbors = tuple((address, mac) for link, mac in sides for address in link.neighbors)

    def apply(self) -> None:
        """Sets the addresses and routes. DutError when the DUT refuses."""
        for interface, link in self._sides:
            self._transport.run(["ifconfig", interface, *_address(link.dut), "up"])
            for prefix in link.routes:
                # A route that a killed run has left would make `add` fail.
                self._route("delete", prefix, must_succeed=False)
                self._route("add", prefix, str(link.tester.ip))

    def remove(self) -> None:
        """Removes the addresses and routes; no error when there are none. The interfaces stay up."""
        for interface, link in self._sides:
            for prefix in link.routes:
                self._route("delete", prefix, str(link.tester.ip), must_succeed=False)
            family = _address(link.dut)[0]
            self._transport.run(["ifconfig", interface, family, str(link.dut.ip), "delete"], check=False)

    def add_neighbors(self) -> None:
        """Adds the static entries for the tester's addresses on the links, if any."""
        for address, mac in self._neighbors:
            self._transport.run(["ndp" if address.version == 6 else "arp", "-s", str(address), mac])

    def remove_neighbors(self) -> None:
        """Removes the static entries; no error when there are none."""
        for address, _ in self._neighbors:
            self._transport.run(["ndp" if address.version == 6 else "arp", "-d", str(address)], check=False)

    def _route(self, verb: str, prefix: IPNetwork, *gateway: str, must_succeed: bool = True) -> None:
        family = "-inet6" if prefix.version == 6 else "-inet"
        self._transport.run(["route", "-qn", verb, family, str(prefix), *gateway], check=must_succeed)


def _address(interface: IPInterface) -> list[str]:
    if interface.version == 6:
        return ["inet6", str(interface.ip), "prefixlen", str(interface.network.prefixlen)]
    return ["inet", str(interface.ip), "netmask", str(interface.netmask)]
