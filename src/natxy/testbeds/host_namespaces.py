# SPDX-License-Identifier: Apache-2.0
"""Hosts made of this machine's kernel: the far end of each of the DUT's links moves to a network namespace of its own.

In one namespace the kernel would deliver from one end to the other without the DUT.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from natxy.dut.linux.rps import steered
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import NetnsTransport
from natxy.engine.messages.common import Side
from natxy.plan.experiment import Addresses
from natxy.system.machine_sysctls import MachineSysctls
from natxy.tcp.iperf3 import Host
from natxy.testbeds.host_link import linked_host
from natxy.testbeds.namespaces import LabNamespaces

# Set before the interface is there. An address that is still being checked for duplicates cannot be bound.
_SYSCTLS = [
    f"net.ipv6.conf.{of}.{name}=0" for of in ("all", "default") for name in ("accept_dad", "accept_ra", "disable_ipv6")
]


@contextmanager
def host_namespaces(
    ends: Mapping[Side, str],
    outside: Transport,
    namespaces: LabNamespaces,
    machine: MachineSysctls,
    *,
    addresses: Addresses,
    mtu: int,
    cores: tuple[int, ...],
) -> Iterator[dict[Side, Host]]:
    """`ends`: the interfaces, which are `outside` now and again when the hosts are left. `cores`: to run on, of
    iperf3 and of the kernel's part of receiving."""
    with ExitStack() as stack:
        hosts = {}
        stack.callback(namespaces.remove_hosts)
        for side, interface in ends.items():
            namespace = namespaces.host(side)
            namespaces.add(namespace)
            inside = NetnsTransport(namespace, machine)
            inside.run(["sysctl", "-qw", *_SYSCTLS])
            outside.run(["ip", "link", "set", interface, "netns", namespace])
            stack.callback(inside.run, ["ip", "link", "set", interface, "netns", _now_in(outside)])
            address = getattr(addresses, f"{side}_hosts").first
            stack.enter_context(linked_host(inside, interface, getattr(addresses, side.value), address, mtu))
            stack.enter_context(steered(inside, interface, cores))
            hosts[side] = Host(inside, address, cores)
        yield hosts


def _now_in(transport: Transport) -> str:
    """The network namespace, as iproute2 names it."""
    return transport.namespace if isinstance(transport, NetnsTransport) else str(os.getpid())
