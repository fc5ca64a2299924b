# SPDX-License-Identifier: Apache-2.0
"""Makes hosts at the ends of the DUT's links: addresses, and routes that send all traffic through the DUT.

Hosts on this machine have a network namespace each: in one namespace the kernel would deliver packets from one end to
the other without the DUT.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Final

from natxy.dut.linux.interfaces import steered
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.dut.transport.undone import undone
from natxy.engine.messages.common import Side
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import IPAddress, LinkAddresses
from natxy.system.network_namespace import NAMED
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
    transport: LocalTransport | SshTransport, interface: str, link: LinkAddresses, address: IPAddress, mtu: int
) -> Iterator[None]:
    """Gives `interface` the host's addresses, and routes from them through the DUT.

    Leaving the context restores everything but the interface's state, which stays up. Raises DutError when iproute2
    refuses a command.
    """
    version = f"-{link.dut.version}"
    unchecked = ["nodad"] if link.dut.version == 6 else []
    addresses = link_addresses(link, address)
    words = transport.run(["ip", "-brief", "address", "show", "dev", interface]).stdout.split()[2:]
    there = {ip_interface(word) for word in words if "/" in word}
    own = [each for each in addresses if each not in there]
    quoted = shlex.quote(interface)
    before = transport.run(["cat", f"/sys/class/net/{interface}/mtu"]).stdout.strip()
    undo = (
        _deletion(f"ip {version} route show", f"ip {version} route del", f"default dev {quoted} table {TABLE}"),
        *(_deletion(f"ip address show to {each.ip}", f"ip address del {each}", f"dev {quoted}") for each in own),
        *(
            _deletion(f"ip {version} rule show", f"ip {version} rule del", f"from {each.ip} lookup {TABLE}")
            for each in addresses
        ),
        ("ip", "link", "set", interface, "mtu", before),
    )
    with undone(transport, f"the addresses, rules and MTU of {interface}", f"MTU {before}", *undo):
        transport.run(["ip", "link", "set", interface, "mtu", str(mtu), "up"])
        for each in addresses:
            transport.run(["ip", version, "rule", "add", "from", str(each.ip), "lookup", TABLE])
        for each in own:
            transport.run(["ip", "address", "add", str(each), "dev", interface, *unchecked])
        hop = ["via", str(link.dut.ip), "dev", interface, "table", TABLE]
        transport.run(["ip", version, "route", "replace", "default", *hop])
        yield


def _deletion(show: str, delete: str, what: str) -> tuple[str, ...]:
    """Returns a command that deletes `what` if there is such a thing to show."""
    # An interface or a table that is gone is an error of `ip show`.
    return ("sh", "-c", f'[ -z "$({show} {what} 2>/dev/null)" ] || {delete} {what}')


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
            stack.enter_context(_moved(interface, outside, inside))
            address = getattr(addresses, f"{side}_hosts").first
            stack.enter_context(linked_host(inside, interface, getattr(addresses, side.value), address, mtu))
            stack.enter_context(steered(inside, interface, cores))
            hosts[side] = Host(inside, address, cores)
        yield Iperf3Hosts(hosts[Side.LEFT], hosts[Side.RIGHT], foreground)


@contextmanager
def _moved(interface: str, outside: LocalTransport, inside: NetnsTransport) -> Iterator[None]:
    """Has an interface of the namespace of `outside` in that of `inside` within the context."""
    # The shell stands for the namespace that it runs in. An interface that changes its namespace goes down.
    name, there = inside.namespace, f"ip -n {inside.namespace}"
    script = (
        f"[ -e {NAMED / name} ] || exit 0; links=$({there} -o link) || exit; "
        f'case "$links" in *" {interface}@"* | *" {interface}:"*) ;; *) exit 0 ;; esac; '
        f"{there} link set {interface} netns $$ && ip link set {interface} up; exit $?"
    )
    back = ("sh", "-c", script)
    with undone(outside, f"the network namespace of {interface}", outside.describe(), back):
        outside.run(["ip", "link", "set", interface, "netns", inside.namespace])
        yield
