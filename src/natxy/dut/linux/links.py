# SPDX-License-Identifier: Apache-2.0
"""Sets the addresses and routes of a Linux DUT's two interfaces."""

from __future__ import annotations

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import AddressPlan, LinkAddresses


class LinuxLinks:
    """Adds addresses and routes to both interfaces, and leaves existing ones unchanged."""

    def __init__(self, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan) -> None:
        self._transport = transport
        self._sides = tuple(
            side for pair in addresses.pairs for side in ((interfaces.left, pair.left), (interfaces.right, pair.right))
        )

    def apply(self) -> None:
        """Sets both interfaces up. DutError when iproute2 refuses something."""
        for interface, link in self._sides:
            self._ip("link", "set", interface, "up")
            # An address under duplicate address detection does not forward yet.
            unchecked = ["nodad"] if link.dut.version == 6 else []
            self._ip("address", "replace", str(link.dut), "dev", interface, *unchecked)
            self._routes("replace", interface, link)

    def remove(self) -> None:
        """Removes the addresses and routes; no error when there are none. The interfaces stay up."""
        for interface, link in self._sides:
            self._routes("del", interface, link, must_succeed=False)
            self._ip("address", "del", str(link.dut), "dev", interface, must_succeed=False)

    def _routes(self, verb: str, interface: str, link: LinkAddresses, *, must_succeed: bool = True) -> None:
        routes = [["route", verb, str(prefix), "via", str(link.tester.ip), "dev", interface] for prefix in link.routes]
        # One call for all: there may be hundreds, and over ssh each call is a round trip.
        batch = "".join(f"{' '.join(route)}\n" for route in routes)
        done = self._transport.run(["ip", "-force", "-batch", "-"], input=batch, check=False)
        if done.returncode != 0 and must_succeed:
            # Repeated one by one, so that the error names the route that is refused.
            for route in routes:
                self._ip(*route)

    def _ip(self, *arguments: str, must_succeed: bool = True) -> None:
        self._transport.run(["ip", *arguments], check=must_succeed)
