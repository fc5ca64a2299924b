# SPDX-License-Identifier: Apache-2.0
"""Holds the subscribers of a core whose softwires no mapping rule gives: those of lw4o6, which a binding table lists
(RFC 7596), and homes with the same inner address, as DS-Lite has them (RFC 6333)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import product
from typing import Final

from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.port_sets import PortSet

MOST_IN_TABLE: Final = 65_536
"""The most ends that the tester looks up."""
_IPV4_BITS, _IPV6_BITS, _PORT_BITS = 32, 128, 16
_NOBODY: Final = IPv6Address(0)
# The numbers of homes, as the ends of their softwires have them. No packet has such an address.
_FIRST_HOME: Final = int(IPv4Address("10.128.0.0"))
MOST_HOMES: Final = 1 << 23


@dataclass(frozen=True)
class TableSubscriber:
    """Holds what a table says of a subscriber: its IPv4 address and ports, and its end of the softwire; `number` is its
    place in the table."""

    number: int
    ipv4: IPv4Address
    ports: PortSet
    address: IPv6Address


@dataclass(frozen=True)
class SoftwireTable:
    """Holds the ends of softwires by address and PSID: every one of the `addresses`, which ascend, has `psid_count`
    PSIDs from `first_psid` on.

    `ends` has the ends of the first address's PSIDs, then those of the next one's.
    """

    addresses: tuple[IPv4Address, ...]
    ends: tuple[IPv6Address, ...]
    first_psid: int = 0
    psid_count: int = 1
    psid_length: int = 0
    offset: int = 0

    @classmethod
    def of(cls, ends: Mapping[tuple[IPv4Address, int], IPv6Address], psid_length: int, offset: int) -> SoftwireTable:
        """Returns the table of ends by address and PSID. ValueError if the tester cannot play it."""
        addresses, psids = sorted({address for address, _ in ends}), sorted({psid for _, psid in ends})
        run = range(psids[0], psids[-1] + 1)
        if missing := next((each for each in product(addresses, run) if each not in ends), None):
            raise ValueError(
                f"{missing[0]} has no softwire of PSID {missing[1]}; the tester plays tables in which each address has "
                "the same PSIDs, one after the other without a gap: complete the table, or split it"
            )
        if len(psids) < 1 << psid_length and offset:
            raise ValueError(
                f"each address has {len(psids):,} of {1 << psid_length:,} PSIDs of {psid_length} bits; with an offset "
                f"of {offset} the ports of the others lie between theirs, so that the table needs all PSIDs"
            )
        found = cls(
            tuple(addresses),
            tuple(ends[each] for each in product(addresses, psids)),
            psids[0],
            len(psids),
            psid_length,
            offset if psid_length else 0,
        )
        if (numbers := 1 << found.address_bits + psid_length) > MOST_IN_TABLE:
            raise ValueError(
                f"the addresses lie so far apart that they and their PSIDs need {numbers:,} numbers, and the tester "
                f"has {MOST_IN_TABLE:,}; split the table into parts whose addresses are closer together"
            )
        return found

    @property
    def subscriber_count(self) -> int:
        return len(self.ends)

    def subscriber(self, number: int) -> TableSubscriber:
        """Returns the subscriber of this number, by address and then by PSID."""
        of_address, psid = divmod(number, self.psid_count)
        ports = PortSet(self.first_psid + psid, self.psid_length, self.offset)
        return TableSubscriber(number, self.addresses[of_address], ports, self.ends[number])

    def place(self, address: IPv4Address) -> int:
        """Returns the number of an address among those of the table. ValueError if the table does not have it."""
        found = bisect_left(self.addresses, address)
        if self.addresses[found : found + 1] != (address,):
            raise ValueError(f"the table has no softwire of {address}")
        return found

    @cached_property
    def address_bits(self) -> int:
        """The last bits of an address that tell it from all others."""
        return next(bits for bits in range(_IPV4_BITS + 1) if self._are_told_apart(bits))

    def _are_told_apart(self, bits: int) -> bool:
        if len(self.addresses) > 1 << bits:
            return False
        return len({int(each) & (1 << bits) - 1 for each in self.addresses}) == len(self.addresses)

    @cached_property
    def numbered(self) -> list[IPv6Address]:
        """The ends by number: the last `address_bits` of the address, and the PSID. Numbers of nobody have ::."""
        numbered = [_NOBODY] * (1 << self.address_bits + self.psid_length)
        for number, end in enumerate(self.ends):
            of_address, psid = divmod(number, self.psid_count)
            last_bits = int(self.addresses[of_address]) & (1 << self.address_bits) - 1
            numbered[last_bits << self.psid_length | self.first_psid + psid] = end
        return numbered

    @cached_property
    def ipv6(self) -> IPv6Network:
        """The smallest network that has all ends."""
        first, last = int(min(self.ends)), int(max(self.ends))
        bits = (first ^ last).bit_length()
        return IPv6Network((first >> bits << bits, _IPV6_BITS - bits))

    @property
    def ipv4(self) -> IPv4Network:
        """The smallest network that has all addresses."""
        first, last = int(self.addresses[0]), int(self.addresses[-1])
        bits = (first ^ last).bit_length()
        return IPv4Network((first >> bits << bits, _IPV4_BITS - bits))

    @property
    def port_limits(self) -> tuple[int, int]:
        """The lowest and the highest port that a subscriber has."""
        first, last = (PortSet(psid, self.psid_length, self.offset) for psid in (self.first_psid, self._last_psid))
        return max(1, first.ranges[0][0]), last.ranges[-1][-1]

    @property
    def _last_psid(self) -> int:
        return self.first_psid + self.psid_count - 1


@dataclass(frozen=True)
class Homes:
    """Holds homes that all have the `inner` address, each behind a softwire of its own.

    The `rule` gives the home its end of the softwire by its number, which stands where otherwise a subscriber's own
    address does.
    """

    rule: MapRule
    inner: IPv4Address
    subscriber_count: int

    @classmethod
    def of(cls, ipv6: IPv6Network, inner: IPv4Address, count: int) -> Homes:
        """Returns `count` homes, whose ends are in `ipv6`. ValueError if the prefix has no room for them."""
        bits = (count - 1).bit_length()
        numbers = IPv4Network((_FIRST_HOME, _IPV4_BITS - bits))
        return cls(MapRule(ipv6, numbers, bits), inner, count)

    @property
    def ipv6(self) -> IPv6Network:
        return self.rule.ipv6

    def subscriber(self, number: int) -> MapSubscriber:
        """Returns a home by its number, with the address that stands for the number."""
        return self.rule.subscriber(number)

    @property
    def numbers(self) -> tuple[IPv4Address, IPv4Address]:
        """The first and the last home's number, as an address."""
        first = self.rule.ipv4.network_address
        return first, first + self.subscriber_count - 1


Bindings = MapRule | SoftwireTable | Homes
"""The subscribers of a core, and the ends of their softwires."""
