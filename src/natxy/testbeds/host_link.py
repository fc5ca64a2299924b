# SPDX-License-Identifier: Apache-2.0
"""A host's end of its link to the DUT: addresses, and a way through the DUT for whatever these send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Final

from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import IPAddress, LinkAddresses

# Of the routes that only these addresses use; a host's own stay as they are.
TABLE: Final = "8219"


def link_addresses(link: LinkAddresses, address: IPAddress) -> list[IPv4Interface | IPv6Interface]:
    """The link's next hop, and behind it the host's own, where that is another."""
    own = ip_interface(address)
    return [link.tester] if own.ip == link.tester.ip else [link.tester, own]


@contextmanager
def linked_host(
    transport: Transport, interface: str, link: LinkAddresses, address: IPAddress, mtu: int
) -> Iterator[None]:
    """The interface is up from then on; all else is as before when the context is left. DutError when iproute2 refuses
    something."""
    version = f"-{link.dut.version}"
    unchecked = ["nodad"] if link.dut.version == 6 else []
    addresses = link_addresses(link, address)
    before = transport.run(["cat", f"/sys/class/net/{interface}/mtu"]).stdout.strip()
    users = _of_the_user(transport, interface, addresses)
    own = [each for each in addresses if each not in users]
    try:
        _remove(transport, interface, link, own)
        transport.run(["ip", "link", "set", interface, "mtu", str(mtu), "up"])
        for each in addresses:
            # The rule first: by it a killed run's address is told from the user's.
            transport.run(["ip", version, "rule", "add", "from", str(each.ip), "lookup", TABLE])
        for each in own:
            transport.run(["ip", "address", "add", str(each), "dev", interface, *unchecked])
        hop = ["via", str(link.dut.ip), "dev", interface, "table", TABLE]
        transport.run(["ip", version, "route", "replace", "default", *hop])
        yield
    finally:
        _remove(transport, interface, link, own)
        for each in users:
            _remove_rule(transport, each)
        transport.run(["ip", "link", "set", interface, "mtu", before], check=False)


def _of_the_user(
    transport: Transport, interface: str, addresses: list[IPv4Interface | IPv6Interface]
) -> list[IPv4Interface | IPv6Interface]:
    """Those that are there already, and not because of a run that was killed."""
    words = transport.run(["ip", "-brief", "address", "show", "dev", interface]).stdout.split()[2:]
    there = {ip_interface(word) for word in words if "/" in word}
    rules = {version: transport.run(["ip", f"-{version}", "rule", "show"]).stdout for version in (4, 6)}
    return [each for each in addresses if each in there and f"from {each.ip} lookup {TABLE}" not in rules[each.version]]


def _remove(
    transport: Transport, interface: str, link: LinkAddresses, addresses: list[IPv4Interface | IPv6Interface]
) -> None:
    """Harmless when nothing of it is there, and so for what a killed run left."""
    version = f"-{link.dut.version}"
    transport.run(["ip", version, "route", "del", "default", "dev", interface, "table", TABLE], check=False)
    for each in addresses:
        transport.run(["ip", "address", "del", str(each), "dev", interface], check=False)
        _remove_rule(transport, each)


def _remove_rule(transport: Transport, address: IPv4Interface | IPv6Interface) -> None:
    rule = ["from", str(address.ip), "lookup", TABLE]
    transport.run(["ip", f"-{address.version}", "rule", "del", *rule], check=False)
