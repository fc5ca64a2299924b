# SPDX-License-Identifier: Apache-2.0
"""The path of an experiment's frames: its gateways from left to right, each with the addresses of its two links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface, ip_network
from typing import Final

from natxy.addressing.map_rules import MapRule
from natxy.plan.crossings import PREFIX, Crossing, LinkForm, Networks, clat_mappings
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.chain import ChainConfig, Kind, Kinds
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import (
    AddressPlan,
    IPAddress,
    IPInterface,
    LinkAddresses,
    Softwire,
    Translation,
)
from natxy.plan.model.terms import Family, SoftwireEnd, TranslationKind

# The links between two gateways have shared address space (RFC 6598), or that of the benchmark block of IPv6.
_LINKS: Final = {Family.IPV4: "100.64.{}.{}/24", Family.IPV6: "2001:2:0:400{}::{}/64"}
# The ends of a softwire have addresses that are routed to their gateways and that no link has: where the kernel takes
# packets out of IPv6 by a route (seg6local), an address of its own would come before the route.
_SOFTWIRES: Final = "2001:2:0:500{}::{}"
_LEFT_END, _RIGHT_END = 1, 2
OWN_NETWORK: Final = IPv6Network("2001:2:0:4000::/51")
"""Has the IPv6 addresses of all links between gateways and of all ends of softwires."""


@dataclass(frozen=True)
class Hop:
    """Holds a gateway, and its two links as it has them: the `tester` of a link is the neighbour there."""

    gateway: GatewayConfig
    addresses: AddressPlan

    @property
    def replaces_left(self) -> bool:
        """True if the left hosts have addresses of the gateway's on its right link."""
        own = self.addresses.translation
        return self.gateway.hides_left if own is None else own.kind == TranslationKind.NAT64

    def across(self, host: IPAddress) -> IPAddress | None:
        """Returns a host's address on the other link; None if it has none there."""
        own = self.addresses.translation
        return own.across(host) if own else host


@dataclass(frozen=True)
class GatewayPath:
    """Holds the gateways from left to right, and the links of the tester at both ends."""

    hops: tuple[Hop, ...]
    ends: AddressPlan

    def hosts(self, left: IPAddress, right: IPAddress) -> list[tuple[IPAddress, IPAddress]]:
        """Returns for each gateway a left host as the gateway's left link has the host, and a right host as its right
        link has the host.

        A host whose addresses are replaced has that of the gateway which replaces them.
        """
        lefts, rights = [left], [right]
        for hop in self.hops[:-1]:
            seen = None if hop.replaces_left else hop.across(lefts[-1])
            lefts.append(seen or hop.addresses.public.network_address)
        for hop in self.hops[:0:-1]:
            rights.append(hop.across(rights[-1]) or hop.addresses.left.dut.ip)
        return [*zip(lefts, rights[::-1], strict=True)]


def kinds_of(gateway: GatewayConfig, families: tuple[Family, Family], translation: Translation | None) -> Kinds | None:
    """Returns what each gateway does between families; None if a chain does not lead from one family to the other."""
    kind = translation.kind if translation else None
    return gateway.kinds(*families, kind) if isinstance(gateway, ChainConfig) else (kind,)


def forms_of_links(left: Family, kinds: Kinds) -> tuple[LinkForm, ...]:
    """Returns the form of frames on each link, from the left end to the right one."""
    forms = [LinkForm(left)]
    for kind in kinds:
        before = forms[-1]
        forms.append(LinkForm(kind.families[1], in_softwire=kind == SoftwireEnd.EDGE) if kind else before)
    return tuple(forms)


def path_of(
    gateway: GatewayConfig,
    kinds: Kinds,
    ends: AddressPlan,
    left: Family,
    left_hosts: AddressRanges,
    subscribers: MapRule | None = None,
) -> GatewayPath:
    """Returns the path between the `ends`, whose left link has the family `left`.

    A link between two gateways has addresses of natxy's own. `left_hosts` get addresses where a clat translates.
    `subscribers`: the rule of those whose ends of softwires the tester plays; None for a single one.
    """
    boxes = gateway.boxes
    if len(boxes) == 1:
        return GatewayPath((Hop(gateway, ends),), ends)
    forms = forms_of_links(left, kinds)
    between = [_between(forms[number].family, number) for number in range(1, len(kinds))]
    rights = [*(link[0] for link in between), ends.right.dut]
    translations: list[Translation | None] = []
    for hop, kind, right in zip(boxes, kinds, rights, strict=True):
        translations.append(_translation(kind, right, ends, left_hosts))
        if hop.hides_left and kind is None:
            # What comes next sees the address of this gateway instead of the hosts'.
            left_hosts = AddressRanges.model_validate(right.ip)
    crossings = [
        Crossing(translation, right.network if kind is None and hop.hides_left else None)
        for translation, kind, hop, right in zip(translations, kinds, boxes, rights, strict=True)
    ]
    softwires = _Softwires(kinds, tuple(box.is_played for box in boxes), subscribers)
    seen_left = _left_networks(ends, softwires, crossings)
    seen_right = _right_networks(ends, softwires, crossings)
    lefts = [ends.left, *(_link(*link[::-1], seen) for link, seen in zip(between, seen_left[1:-1], strict=True))]
    links = [*(_link(*link, seen) for link, seen in zip(between, seen_right[1:-1], strict=True)), ends.right]
    hops = [
        Hop(
            hop,
            AddressPlan(
                left=lefts[number],
                right=links[number],
                translation=translations[number],
                softwire=softwires.end(number, seen_left[number + 1], seen_right[number]),
                pool=ends.pool if number == len(kinds) - 1 and kinds[number] is None else None,
                mtu=ends.mtu,
            ),
        )
        for number, hop in enumerate(boxes)
    ]
    real = tuple(hop for hop in hops if not hop.gateway.is_played)
    # The tester's ports are on the links of the outer gateways.
    outer = {"left": real[0].addresses.left, "right": real[-1].addresses.right}
    return GatewayPath(real, ends.model_copy(update=outer))


def _link(own: IPInterface, other: IPInterface, behind: Networks) -> LinkAddresses:
    """Returns a link between two gateways, as one of them has it; its own network needs no route."""
    beyond = dict.fromkeys(each for each in behind if each.network_address not in own.network)
    return LinkAddresses(dut=own, tester=other, behind=tuple(beyond))


def _between(family: Family, number: int) -> tuple[IPInterface, IPInterface]:
    """Returns the addresses of a link's two gateways, the left one's first."""
    left, right = (ip_interface(_LINKS[family].format(number, end)) for end in (_LEFT_END, _RIGHT_END))
    return left, right


@dataclass(frozen=True)
class _Softwires:
    """Holds which gateways are ends of softwires, and which of the boxes the tester plays."""

    kinds: Kinds
    played: tuple[bool, ...]
    subscribers: MapRule | None

    def edge_of(self, number: int) -> int:
        """Returns the edge of the softwire that gateway `number` is an end of."""
        return max(other for other in range(number + 1) if self.kinds[other] == SoftwireEnd.EDGE)

    def rule(self, number: int) -> MapRule | None:
        """Returns the rule of the subscribers, if it is their softwires that gateway `number` is an end of."""
        return self.subscribers if self.played[self.edge_of(number)] else None

    def addresses(self, number: int) -> tuple[IPv6Address, IPv6Address]:
        """Returns the addresses of the edge, that of the first subscriber, and of the core."""
        edge = self.edge_of(number)
        left, right = (IPv6Address(_SOFTWIRES.format(edge, end)) for end in (_LEFT_END, _RIGHT_END))
        rule = self.rule(number)
        return rule.subscriber(0).address if rule else left, right

    def end(self, number: int, lefts: Networks, rights: Networks) -> Softwire | None:
        """Returns the end of a softwire that gateway `number` is, if it is one.

        `lefts`: the left networks as the gateway's right link has them. `rights`: the right ones as its left link has
        them.
        """
        kind = self.kinds[number]
        if not isinstance(kind, SoftwireEnd):
            return None
        is_edge = kind == SoftwireEnd.EDGE
        edge, core = self.addresses(number)
        own, far = (edge, core) if is_edge else (core, edge)
        carries = dict.fromkeys(each for each in (rights if is_edge else lefts) if isinstance(each, IPv4Network))
        of_core = None if is_edge else self.rule(number)
        return Softwire(end=kind, own=own, far=far, carries=tuple(carries), subscribers=of_core)


def _translation(kind: Kind, right: IPInterface, ends: AddressPlan, left_hosts: AddressRanges) -> Translation | None:
    """Returns the translation of a gateway that has the address `right` on its right link."""
    if not isinstance(kind, TranslationKind):
        return None
    own = ip_network(right.ip)
    at_the_end = right == ends.right.dut
    if ends.translation:
        # A pool of the plan's is routed to the gateway, wherever it stands.
        is_usual = ends.translation.pool == ip_network(ends.right.dut.ip)
        return ends.translation.model_copy(update={"pool": own}) if is_usual else ends.translation
    mappings = clat_mappings(left_hosts) if kind.is_stateless else ()
    return Translation(kind=kind, prefix=PREFIX, pool=(at_the_end and ends.pool) or own, mappings=mappings)


def _left_networks(ends: AddressPlan, softwires: _Softwires, crossings: Sequence[Crossing]) -> list[Networks]:
    """Returns the networks of the left end as each link sees them, from the left end to the right one."""
    found: list[Networks] = [(ends.left.dut.network, *ends.left.behind)]
    carried: list[Networks] = []
    for number, (kind, crossing) in enumerate(zip(softwires.kinds, crossings, strict=True)):
        if kind == SoftwireEnd.EDGE:
            carried.append(found[-1])
            rule = softwires.rule(number)
            found.append((rule.ipv6 if rule else ip_network(softwires.addresses(number)[0]),))
        elif kind == SoftwireEnd.CORE:
            found.append(carried.pop())
        else:
            found.append(crossing.left_networks(found[-1]))
    return found


def _right_networks(ends: AddressPlan, softwires: _Softwires, crossings: Sequence[Crossing]) -> list[Networks]:
    """Returns the networks of the right end likewise."""
    kinds = softwires.kinds
    found: list[Networks] = [(ends.right.dut.network, *ends.right.behind)]
    carried: list[Networks] = []
    for number in reversed(range(len(kinds))):
        if kinds[number] == SoftwireEnd.CORE:
            carried.append(found[-1])
            found.append((ip_network(softwires.addresses(number)[1]),))
        elif kinds[number] == SoftwireEnd.EDGE:
            found.append(carried.pop())
        else:
            found.append(crossings[number].right_networks(found[-1]))
    return found[::-1]
