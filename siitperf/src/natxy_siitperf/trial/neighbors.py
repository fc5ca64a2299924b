# SPDX-License-Identifier: Apache-2.0
"""Names the neighbours of a trial: the gateway by its configured MAC addresses, and what the tester answers for.

siitperf answers neither ARP nor neighbour solicitations, so that a gateway needs static neighbours. Here it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_network, summarize_address_range
from typing import Final

from natxy.api import PlanError
from natxy.api.engine import NeighborSide, NeighborsResolve, Side
from natxy.api.labs import DUT_MACS
from natxy.api.programs import plain
from natxy.api.terms import AddressRange, Family, IPNetwork
from natxy_siitperf.arguments import Arguments
from natxy_siitperf.conf import Conf
from natxy_siitperf.keys import mac_in
from natxy_siitperf.sides import (
    Letter,
    active,
    destination_key,
    family,
    has_hosts,
    hosts,
    initiator,
    networks,
    real_key,
)

_LOW_32: Final = 0xFFFF_FFFF


def with_dut_macs(conf: Conf, environment: Mapping[str, str]) -> Conf:
    """Returns the configuration with the gateway's MAC addresses that the variable DUT_MACS has, if any.

    These keys have no line then. Raises PlanError unless there are two MAC addresses.
    """
    given = environment.get(DUT_MACS)
    if not given:
        return conf
    macs = [mac_in(word.strip()) for word in given.split(",")]
    if len(macs) != len(Letter) or None in macs:
        expected = "the gateway's MAC addresses on the left and the right, such as a0:36:9f:74:73:64,a0:36:9f:74:73:66"
        raise PlanError(f"{DUT_MACS} is {plain(given)!r}, expected {expected}")
    stated = {f"MAC-{side}-DUT": mac for side, mac in zip(Letter, macs, strict=True) if mac}
    lines = {key: line for key, line in conf.lines.items() if key not in stated}
    return replace(conf, values={**conf.values, **stated}, lines=lines)


def neighbors_request(conf: Conf, arguments: Arguments) -> NeighborsResolve:
    """Requests one neighbour for each family that a side sends. Raises ConfError if a MAC address is missing."""
    background = arguments.m < arguments.n
    neighbors = []
    for side in Letter:
        conf.mac(f"MAC-{side}-Tester")
        families = {family(conf, side)} | ({Family.IPV6} if background else set())
        for of in sorted(families):
            own = _own(conf, side, of)
            if own is None:
                continue
            neighbors.append(
                NeighborSide(
                    side=Side.LEFT if side is Letter.LEFT else Side.RIGHT,
                    address=conf.address(key) if conf.has(key := real_key(side, of)) else own.first,
                    gateway_mac=conf.mac(f"MAC-{side}-DUT"),
                    answers=_prefixes(own),
                )
            )
    return NeighborsResolve(neighbors=neighbors)


def _own(conf: Conf, side: Letter, of: Family) -> AddressRange | None:
    """Returns the addresses of a family that the tester has on a side; None if it sends no such frames, and the file
    does not say which they are."""
    key = real_key(side, of)
    if has_hosts(conf, side, key):
        return networks(conf, side, key)
    first = initiator(conf)
    if first and side is first.sender.opposite:
        # The peers' IPv6 address for the responder ends with its IPv4 address (RFC 6052).
        known = hosts(conf, side, destination_key(conf, side, family(conf, first.sender)))
        if isinstance(known.first, IPv6Address) and of == Family.IPV4:
            first_host, last_host = (IPv4Address(int(each) & _LOW_32) for each in (known.first, known.last))
            return AddressRange(first=first_host, last=last_host, low_bit=known.low_bit)
        return known
    sends = {direction.sender for direction in active(conf)} | ({first.sender} if first else set())
    if side in sends:
        raise conf.missing(key, "; the tester needs an address of its own there")
    return None


def _prefixes(own: AddressRange) -> list[IPNetwork]:
    """Returns prefixes that hold these addresses, and no others if their last bits vary."""
    if own.low_bit:
        length = own.first.max_prefixlen - (int(own.first) ^ int(own.last)).bit_length()
        return [ip_network((own.first, length), strict=False)]
    if isinstance(own.first, IPv4Address):
        return [*summarize_address_range(own.first, IPv4Address(own.last))]
    return [*summarize_address_range(own.first, IPv6Address(own.last))]
