# SPDX-License-Identifier: Apache-2.0
"""Refuses test networks in which a DUT that natxy does not make has something else, such as its management.

Its ssh connection would count as a connection of the test, and the routes of the test could cut it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_network
from itertools import product
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.map_t import by_tayga
from natxy.dut.drivers.nat46 import Nat46Gateway
from natxy.dut.drivers.softwire import SoftwireGateway
from natxy.dut.linux.tun import TunGateway
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.base import Transport
from natxy.errors import DutError, PlanError
from natxy.plan.model.addresses import AddressPlan, IPNetwork, LinkPair

_ROUTE: Final = re.compile(r"^(?:(?:unicast|blackhole|unreachable|prohibit) )?(\S+)(?:.*? dev (\S+))?", re.MULTILINE)
_EXAMPLE: Final = "{dut: 10.198.0.1/24, tester: 10.198.0.2/24, behind: [10.198.0.0/16]}"


@dataclass(frozen=True)
class OtherUse:
    """An address or a network that the DUT uses for something else than the test, with the words for it."""

    network: IPNetwork
    words: str


def check_free(transport: Transport, uses: Sequence[OtherUse], addresses: AddressPlan) -> None:
    """Raises PlanError when one of `uses` lies in a network of the test. The error names the plan's field."""
    for (field, side, network), use in product(_test_networks(addresses), uses):
        if use.network.network_address in network and use.network.prefixlen >= network.prefixlen:
            raise PlanError(
                f"{field}.{side}: the DUT ({transport.describe()}) has {use.words} in {network}, a network of the "
                f"test; give the plan's `{field}` a `{side}` in networks that the DUT does not use, for example "
                f"{_EXAMPLE}"
            )


def _test_networks(addresses: AddressPlan) -> Iterator[tuple[str, str, IPNetwork]]:
    """Yields the networks of the test with the fields of the plan that they come from."""
    if addresses.pool:
        yield "addresses", "pool", addresses.pool
    for field, pair in zip(("addresses", "background"), addresses.pairs, strict=False):
        yield from _link_networks(field, pair)
    for pair in addresses.further:
        yield from _link_networks("addresses", pair)


def _link_networks(field: str, pair: LinkPair) -> Iterator[tuple[str, str, IPNetwork]]:
    for side, link in (("left", pair.left), ("right", pair.right)):
        yield from ((field, side, network) for network in (link.dut.network, *link.behind))


def other_uses(transport: Transport, interfaces: DutInterfaces, *, sets_links: bool) -> list[OtherUse]:
    """Returns what the DUT has besides the two links of the test: its end of the ssh connection and, where natxy sets
    the links, its other interfaces' addresses and routes.

    A user who sets the links may have the test's addresses on any interface.
    """
    uses = [*_ssh_ends(transport)]
    if sets_links:
        # Of gateways that a killed run left.
        tuns = {driver.tun for driver in GATEWAYS.values() if issubclass(driver, TunGateway)}
        own = {*interfaces.names, *tuns, *by_tayga.TUNS, SoftwireGateway.tunnel, Nat46Gateway.interface}
        uses += (use for interface, use in _addresses_and_routes(transport) if interface not in own)
    return uses


def _ssh_ends(transport: Transport) -> Iterator[OtherUse]:
    words = transport.run(["sh", "-c", 'echo "$SSH_CONNECTION"'], check=False).stdout.split()
    # Client, its port, server, its port.
    for address, end in zip(words[::2], ("the peer", "its own end"), strict=False):
        for network in _parsed(address.partition("%")[0]):
            yield OtherUse(network, f"{end} of the ssh connection, {address},")


def _addresses_and_routes(transport: Transport) -> Iterator[tuple[str, OtherUse]]:
    try:
        shown = transport.run(["ip", "-o", "address"], check=False).stdout
    except DutError:
        # A DUT without iproute2, such as OpenBSD. The network of each of its addresses has a route.
        with suppress(DutError):
            yield from _by_ifconfig(transport.run(["ifconfig", "-a"], check=False).stdout)
        return
    for interface, address in re.findall(r"^\d+: (\S+)\s+inet6? (\S+)", shown, re.MULTILINE):
        yield from _address(interface, address)
    for version in ("-4", "-6"):
        for destination, interface in _ROUTE.findall(transport.run(["ip", version, "route"], check=False).stdout):
            for network in _parsed(destination):
                by = f" by {interface}" if interface else ""
                yield interface, OtherUse(network, f"a route to {network}{by}")


def _by_ifconfig(shown: str) -> Iterator[tuple[str, OtherUse]]:
    interface = ""
    for line in shown.splitlines():
        if header := re.match(r"(\S+): flags", line):
            interface = header[1]
        elif address := re.match(r"\s+inet6? ([^\s%]+)", line):
            yield from _address(interface, address[1])


def _address(interface: str, address: str) -> Iterator[tuple[str, OtherUse]]:
    for network in _parsed(address.partition("/")[0]):
        yield interface, OtherUse(network, f"the address {network.network_address} on {interface}")


def _parsed(text: str) -> tuple[IPNetwork, ...]:
    """Returns the network, that of one address included; none for another text, such as `default`."""
    with suppress(ValueError):
        return (ip_network(text, strict=False),)
    return ()
