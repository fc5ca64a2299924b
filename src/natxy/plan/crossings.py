# SPDX-License-Identifier: Apache-2.0
"""Says as data what a gateway does to frames that cross it: it routes them, hides their hosts, or translates them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final, Literal

from natxy.addressing.embedding import embedded_network, extracted_network
from natxy.plan.frames.forms import Form
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressMapping, IPNetwork, Translation
from natxy.plan.model.terms import Family, TranslationKind

# Both are in the benchmark block. Translators may refuse 64:ff9b::/96 for non-global addresses (RFC 6052 §3.1).
PREFIX: Final = IPv6Network("2001:2:0:64::/96")
_CLAT_PREFIX: Final = IPv6Network("2001:2:0:46::/96")

_HEADER_DIFFERENCE_BYTES: Final = 20
_SOFTWIRE_BYTES: Final = 40

Networks = tuple[IPNetwork, ...]


@dataclass(frozen=True)
class Crossing:
    """Says how networks on one side of a gateway are addressed on the other side.

    With `hidden_in` and no `translation`, it is a NAT44 or NAT66, whose address in that network replaces those of the
    left side; with neither, a router.
    """

    translation: Translation | None = None
    hidden_in: IPNetwork | None = None

    def left_networks(self, networks: Iterable[IPNetwork]) -> Networks:
        """Returns the left networks as the right side sees them: in their place the pool of a NAT64, or the network
        that has the address of another NAT."""
        own = self.translation
        if own is None:
            return (self.hidden_in,) if self.hidden_in else tuple(networks)
        if own.kind == TranslationKind.NAT64:
            return (own.pool,)
        if own.kind == TranslationKind.NAT46:
            return tuple(embedded_network(own.prefix, each) for each in networks if isinstance(each, IPv4Network))
        # Only hosts with a mapping have addresses on the other side.
        return tuple(each.ipv4 if own.kind == TranslationKind.SIIT else each.ipv6 for each in own.mappings)

    def right_networks(self, networks: Iterable[IPNetwork]) -> Networks:
        """Returns the right networks as the left side sees them."""
        own = self.translation
        if own is None:
            return tuple(networks)
        if own.kind == TranslationKind.NAT46:
            return tuple(each.ipv4 for each in own.mappings)
        if own.kind == TranslationKind.CLAT:
            return tuple(_extracted(own.prefix, networks))
        return tuple(embedded_network(own.prefix, each) for each in networks if isinstance(each, IPv4Network))


def _extracted(prefix: IPv6Network, networks: Iterable[IPNetwork]) -> Iterable[IPNetwork]:
    for each in networks:
        # Others, such as the networks of links, stand for no IPv4 hosts.
        with suppress(ValueError):
            if isinstance(each, IPv6Network):
                yield extracted_network(prefix, each)


def clat_mappings(hosts: AddressRanges) -> tuple[AddressMapping, ...]:
    """Returns the IPv6 addresses that a clat gives IPv4 hosts on its left: those behind a prefix of its own (RFC 6877
    §6.3). Each range of hosts has a mapping, of the smallest network that has the whole range."""
    networks = dict.fromkeys(
        IPv4Network(f"{each.first}/{32 - (int(each.first) ^ int(each.last)).bit_length()}", strict=False)
        for each in hosts.ranges
        if each.first.version == 4
    )
    return tuple(AddressMapping(ipv4=each, ipv6=embedded_network(_CLAT_PREFIX, each)) for each in networks)


def bytes_longer(family: Family, than: Family) -> int:
    """Returns by how many bytes a frame of a family is longer than the same frame of the other family."""
    return _HEADER_DIFFERENCE_BYTES * ((family == Family.IPV6) - (than == Family.IPV6))


@dataclass(frozen=True)
class LinkForm:
    """Says in what form frames cross a link: their family, and whether they are IPv4 packets in IPv6, or mapped to it
    as in MAP-T."""

    family: Family
    in_softwire: bool = False
    mapped: bool = False

    @property
    def tuple_family(self) -> Family:
        """The family of the addresses that tell flows apart."""
        return Family.IPV4 if self.in_softwire or self.mapped else self.family

    def form_from(self, sender: Literal["left", "right"]) -> Form:
        """Returns the form that the frames of a side have here."""
        if self.in_softwire:
            return Form.SOFTWIRE_FROM_EDGE if sender == "left" else Form.SOFTWIRE_FROM_CORE
        if self.mapped:
            return Form.MAP_FROM_EDGE if sender == "left" else Form.MAP_FROM_CORE
        return Form.UDP

    def bytes_longer(self, than: Family) -> int:
        """Returns by how many bytes a frame is longer here than the same frame of a family."""
        if self.in_softwire:
            return _SOFTWIRE_BYTES + bytes_longer(Family.IPV4, than)
        return bytes_longer(self.family, than)
