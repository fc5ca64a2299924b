# SPDX-License-Identifier: Apache-2.0
"""Writes the commands that give VPP its interfaces, and those of its plugin `map`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Address

from natxy.addressing.map_rules import MapRule
from natxy.dut.linux.softwires import Binding
from natxy.plan.model.addresses import LinkAddresses

_HOST_BITS = {4: 32, 6: 128}


def port_commands(interface: str, mac: str, link: LinkAddresses, feature: str) -> Iterator[str]:
    """Yields the commands for a socket (AF_PACKET) on a Linux interface, with its addresses, its routes, and the
    `feature` of a plugin, if any."""
    port = port_of(interface)
    yield f"create host-interface name {interface} hw-addr {mac}"
    yield f"set interface state {port} up"
    yield f"set interface ip address {port} {link.dut}"
    yield from (f"ip route add {network} via {link.tester.ip} {port}" for network in link.routes)
    if feature:
        yield f"{feature} {port}"


def neighbor_commands(interface: str, link: LinkAddresses, known: str) -> Iterator[str]:
    """Yields a static entry for each of a link's neighbours that the kernel knows, by what `ip neigh` shows."""
    neighbors = {str(each) for each in link.neighbors}
    for line in known.splitlines():
        match line.split():
            case [address, "lladdr", mac, *_] if address in neighbors:
                yield f"set ip neighbor {port_of(interface)} {address} {mac} static"


def port_of(interface: str) -> str:
    """Returns VPP's name for a socket on a Linux interface."""
    return f"host-{interface}"


def rule_commands(rule: MapRule, core: IPv6Address) -> list[str]:
    """Returns the command for the domain of a mapping rule, whose subscribers VPP computes."""
    offset = rule.offset if rule.psid_length else 0
    return [
        f"map add domain ip4-pfx {rule.ipv4} ip6-pfx {rule.ipv6} ip6-src {core} ea-bits-len {rule.ea_length} "
        f"psid-offset {offset} psid-len {rule.psid_length}"
    ]


class Domains:
    """Holds the number of each address's domain, which VPP does not tell: it counts from 0 on, and a new domain has the
    number that was freed last (VPP's src/vppinfra/pool.h)."""

    def __init__(self, core: IPv6Address) -> None:
        self._core = core
        self._freed: list[int] = []
        self.numbers: dict[IPv4Network, int] = {}

    def added(self, bindings: Iterable[Binding]) -> Iterator[str]:
        """Yields the commands for a domain for each address, with a rule for each of its PSIDs."""
        for each in bindings:
            ports = each.ports
            if ports.psid_length == 0:
                self._number(each.inner)
                yield _domain(each.inner, f"{each.far}/{_HOST_BITS[6]}", self._core)
                continue
            for address in each.inner.subnets(new_prefix=_HOST_BITS[4]):
                if address not in self.numbers:
                    self._number(address)
                    yield _domain(address, "::/0", self._core, ports.offset, ports.psid_length)
                yield f"map add rule index {self.numbers[address]} psid {ports.psid} ip6-dst {each.far}"

    def removed(self, bindings: Iterable[Binding]) -> Iterator[str]:
        """Yields the commands that delete the domains of these bindings' addresses, with all of their rules."""
        for address in dict.fromkeys(each.inner for each in bindings):
            self._freed.append(self.numbers.pop(address))
            yield f"map del domain index {self._freed[-1]}"

    def _number(self, address: IPv4Network) -> None:
        self.numbers[address] = self._freed.pop() if self._freed else len(self.numbers)


def _domain(address: IPv4Network, ends: str, core: IPv6Address, offset: int = 0, psid_length: int = 0) -> str:
    return (
        f"map add domain ip4-pfx {address} ip6-pfx {ends} ip6-src {core} ea-bits-len 0 psid-offset {offset} "
        f"psid-len {psid_length}"
    )
