# SPDX-License-Identifier: Apache-2.0
"""Computes the addresses of MAP-E and MAP-T subscribers by their rule (RFC 7597 §5 and §6, RFC 7599)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from natxy.addressing.port_sets import USUAL_OFFSET, PortSet, psid_of

_IPV4_BITS, _IPV6_BITS, _PREFIX_BITS, _PORT_BITS = 32, 128, 64, 16
_MOST_EA_BITS: Final = 48


@dataclass(frozen=True)
class MapRule:
    """Holds a mapping rule: the prefixes of both families, the length of the embedded address (EA) bits, and the offset
    of port sets.

    A subscriber's EA bits are the end of its IPv4 address or prefix and, where subscribers share an address, its PSID.
    Without EA bits the rule is that of one subscriber, which may have a PSID of `given_psid_length` by other means
    (RFC 7597 §5.1), as in lw4o6. ValueError for a rule that contradicts itself.
    """

    ipv6: IPv6Network
    ipv4: IPv4Network
    ea_length: int
    offset: int = USUAL_OFFSET
    given_psid_length: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.ea_length <= _MOST_EA_BITS:
            raise ValueError(f"expected 0 to {_MOST_EA_BITS} EA bits (RFC 7597 §5.2), got {self.ea_length}")
        if self.ipv6.prefixlen + self.ea_length > _IPV6_BITS:
            raise ValueError(
                f"{self.ipv6} and {self.ea_length} EA bits are longer than an address; give a shorter prefix, or fewer "
                "bits"
            )
        if self.given_psid_length and self.ea_length:
            raise ValueError(
                f"{self.ea_length} EA bits give the length of the PSID, so that it cannot be given as "
                f"{self.given_psid_length}, too"
            )
        # Raises ValueError if offset and PSID are too long.
        PortSet(0, self.psid_length, self.offset if self.psid_length else 0)

    @property
    def psid_length(self) -> int:
        """The number of EA bits behind those of the IPv4 address; 0 if no address is shared."""
        return self.given_psid_length or max(0, self.ea_length - self._suffix_length)

    @property
    def psid_count(self) -> int:
        """The number of subscribers that share an address."""
        return 1 << self.psid_length

    @property
    def subscriber_count(self) -> int:
        """The number of subscribers that the rule can have."""
        return 1 << (self.ea_length or self.given_psid_length)

    def subscriber(self, number: int) -> MapSubscriber:
        """Returns the subscriber whose EA bits are `number`, or without EA bits whose PSID is."""
        if not 0 <= number < self.subscriber_count:
            raise ValueError(f"expected a subscriber of 0 to {self.subscriber_count - 1}, got {number}")
        psid = number & self.psid_count - 1
        # Of a subscriber with a prefix, this is the first address.
        suffix = number >> self.psid_length << max(0, self._suffix_length - self.ea_length)
        address = self.ipv4.network_address + (suffix if self.ea_length else 0)
        return MapSubscriber(self, number, address, PortSet(psid, self.psid_length, self.offset))

    def subscriber_of(self, address: IPv4Address, port: int) -> MapSubscriber:
        """Returns the subscriber that has an address and, where it is shared, a port. ValueError if none has it."""
        place = self.place(address)
        suffix = place if self.ea_length else 0
        psid = psid_of(port, self.psid_length, self.offset)
        found = self.subscriber(suffix >> max(0, self._suffix_length - self.ea_length) << self.psid_length | psid)
        if port not in found.ports:
            raise ValueError(f"no subscriber has port {port} with an offset of {self.offset}")
        return found

    def place(self, address: IPv4Address) -> int:
        """Returns the number of an address in the rule's IPv4 prefix. ValueError if the address is not in it."""
        if address not in self.ipv4:
            raise ValueError(f"{address} is not in {self.ipv4}")
        return int(address) - int(self.ipv4.network_address)

    @property
    def _suffix_length(self) -> int:
        return _IPV4_BITS - self.ipv4.prefixlen


@dataclass(frozen=True)
class MapSubscriber:
    """Holds a subscriber's IPv4 address, or the first one of its prefix, and its ports; `number` has its EA bits."""

    rule: MapRule
    number: int
    ipv4: IPv4Address
    ports: PortSet

    @property
    def prefix(self) -> IPv6Network:
        """The end-user prefix: the rule's, and the EA bits (RFC 7597 §5.2)."""
        rule = self.rule
        length = rule.ipv6.prefixlen + rule.ea_length
        ea_bits = self.number if rule.ea_length else 0
        return IPv6Network((int(rule.ipv6.network_address) | ea_bits << (_IPV6_BITS - length), length))

    @property
    def address(self) -> IPv6Address:
        """The MAP address: the end-user prefix, zeros up to 64 bits, and the interface identifier (RFC 7597 §6).

        A prefix of more than 64 bits takes the place of the identifier's first bits.
        """
        prefix = self.prefix
        identifier = int(self.ipv4) << _PORT_BITS | self.ports.psid
        behind = (1 << (_IPV6_BITS - max(prefix.prefixlen, _PREFIX_BITS))) - 1
        return IPv6Address(int(prefix.network_address) | identifier & behind)
