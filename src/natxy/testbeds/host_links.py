# SPDX-License-Identifier: Apache-2.0
"""Makes hosts at the ends of the DUT's links: addresses, and routes that send all traffic through the DUT.

Hosts on this machine have a network namespace each: in one namespace the kernel would deliver packets from one end to
the other without the DUT.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Final

from natxy.dut.linux.interfaces import steered
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.engine.messages.common import Side
from natxy.plan.experiment import Addresses
from natxy.plan.model.addresses import IPAddress, LinkAddresses
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.tcp.iperf3 import Host, Iperf3Hosts
from natxy.testbeds.namespaces import LabNamespaces

# The routing table of the hosts' own addresses; the other routes of a host stay as they are.
TABLE: Final = "8219"
# Set before the interface exists. A program cannot bind an address that is still checked for duplicates.
_SYSCTLS = [
    f"net.ipv6.conf.{of}.{name}=0" for of in ("all", "default") for name in ("accept_dad", "accept_ra", "disable_ipv6")
]


def link_addresses(link: LinkAddresses, address: IPAddress) -> list[IPv4Interface | IPv6Interface]:
    """Returns the link's next hop and, where it is another one, the host's own address behind it."""
    own = ip_interface(address)
    return [link.tester] if own.ip == link.tester.ip else [link.tester, own]


@contextmanager
def linked_host(
    transport: Transport, interface: str, link: LinkAddresses, address: IPAddress, mtu: int
) -> Iterator[None]:
    """Gives `interface` the host's addresses, and routes from them through the DUT.

    Leaving the context restores everything but the interface's state, which stays up. Raises DutError when iproute2
    refuses a command.
    """
    version = f"-{link.dut.version}"
    unchecked = ["nodad"] if link.dut.version == 6 else []
    addresses = link_addresses(link, address)
    before = transport.run(["cat", f"/sys/class/net/{interface}/mtu"]).stdout.strip()
    users = _users_own(transport, interface, addresses)
    own = [each for each in addresses if each not in users]
    try:
        _remove(transport, interface, link, own)
        transport.run(["ip", "link", "set", interface, "mtu", str(mtu), "up"])
        for each in addresses:
            # The rule comes first: it distinguishes the address of a killed run from the user's.
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


def _users_own(
    transport: Transport, interface: str, addresses: list[IPv4Interface | IPv6Interface]
) -> list[IPv4Interface | IPv6Interface]:
    """Returns the addresses that the interface has already, other than those of a killed run."""
    words = transport.run(["ip", "-brief", "address", "show", "dev", interface]).stdout.split()[2:]
    there = {ip_interface(word) for word in words if "/" in word}
    rules = {version: transport.run(["ip", f"-{version}", "rule", "show"]).stdout for version in (4, 6)}
    return [each for each in addresses if each in there and f"from {each.ip} lookup {TABLE}" not in rules[each.version]]


def _remove(
    transport: Transport, interface: str, link: LinkAddresses, addresses: list[IPv4Interface | IPv6Interface]
) -> None:
    """Removes routes, addresses and rules; those that do not exist are ignored, so it also removes a killed run's."""
    version = f"-{link.dut.version}"
    transport.run(["ip", version, "route", "del", "default", "dev", interface, "table", TABLE], check=False)
    for each in addresses:
        transport.run(["ip", "address", "del", str(each), "dev", interface], check=False)
        _remove_rule(transport, each)


def _remove_rule(transport: Transport, address: IPv4Interface | IPv6Interface) -> None:
    rule = ["from", str(address.ip), "lookup", TABLE]
    transport.run(["ip", f"-{address.version}", "rule", "del", *rule], check=False)


@contextmanager
def hosts_in_namespaces(
    ends: Mapping[Side, str],
    outside: LocalTransport,
    namespaces: LabNamespaces,
    addresses: Addresses,
    foreground: Foreground,
    *,
    mtu: int,
    cores: tuple[int, ...],
) -> Iterator[TcpHosts]:
    """Moves the interfaces `ends` from the namespace of `outside` into one namespace a host, and back afterwards.

    iperf3, and the kernel's part of receiving, run on `cores`.
    """
    with ExitStack() as stack:
        hosts = {}
        stack.callback(namespaces.remove_hosts)
        for side, interface in ends.items():
            namespace = namespaces.host(side)
            namespaces.add(namespace)
            inside = NetnsTransport(namespace, outside.machine)
            inside.run(["sysctl", "-qw", *_SYSCTLS])
            outside.run(["ip", "link", "set", interface, "netns", namespace])
            stack.callback(inside.run, ["ip", "link", "set", interface, "netns", _namespace_of(outside)])
            address = getattr(addresses, f"{side}_hosts").first
            stack.enter_context(linked_host(inside, interface, getattr(addresses, side.value), address, mtu))
            stack.enter_context(steered(inside, interface, cores))
            hosts[side] = Host(inside, address, cores)
        yield Iperf3Hosts(hosts[Side.LEFT], hosts[Side.RIGHT], foreground)


def _namespace_of(transport: Transport) -> str:
    """Returns the network namespace of `transport` as iproute2 names it."""
    return transport.namespace if isinstance(transport, NetnsTransport) else str(os.getpid())
