# SPDX-License-Identifier: Apache-2.0
"""Moves the addresses of a link and of the hosts behind it, so that further pairs of interfaces have their own."""

from __future__ import annotations

from typing import TypeVar

from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import IPAddress, IPInterface, IPNetwork, LinkAddresses

InterfaceT = TypeVar("InterfaceT", bound=IPInterface)
AddressT = TypeVar("AddressT", bound=IPAddress)
NetworkT = TypeVar("NetworkT", bound=IPNetwork)


def block_of(link: LinkAddresses) -> range:
    """Returns the numbers of the addresses in the smallest prefix that has those of the link and those behind it."""
    networks = (link.dut.network, *link.behind)
    first, last = min(int(each[0]) for each in networks), max(int(each[-1]) for each in networks)
    size = 1 << (first ^ last).bit_length()
    return range(first & -size, (first & -size) + size)


def moved_link(link: LinkAddresses, distance: int) -> LinkAddresses:
    """Returns the link with each address higher by `distance`. ValueError when there is no such address."""
    return link.model_copy(
        update={
            "dut": _moved_interface(link.dut, distance),
            "tester": _moved_interface(link.tester, distance),
            "behind": tuple(_moved_network(network, distance) for network in link.behind),
        }
    )


def moved_hosts(hosts: AddressRanges, distance: int) -> AddressRanges:
    """Returns the hosts with each address higher by `distance`. ValueError when there is no such address."""
    moved = (
        AddressRange(first=each.first + distance, last=each.last + distance, low_bit=each.low_bit)
        for each in hosts.ranges
    )
    return AddressRanges(tuple(moved))


def _moved_interface(interface: InterfaceT, distance: int) -> InterfaceT:
    # A sum of interfaces forgets the length of their prefix.
    return type(interface)((int(interface.ip) + distance, interface.network.prefixlen))


def _moved_network(network: NetworkT, distance: int) -> NetworkT:
    return type(network)((int(network.network_address) + distance, network.prefixlen))
