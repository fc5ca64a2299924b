# SPDX-License-Identifier: Apache-2.0
"""The path of an experiment's frames: its gateways from left to right, each with the addresses of its two links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface, ip_network
from typing import Final

from natxy.addressing.embedding import embedded_network
from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import PortSet
from natxy.addressing.softwire_tables import Bindings, Homes
from natxy.plan.crossings import PREFIX, Crossing, LinkForm, Networks, clat_mappings
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.chain import ChainConfig, Kind, Kinds
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import (
    AddressPlan,
    IPAddress,
    IPInterface,
    IPNetwork,
    LinkAddresses,
    MapDomain,
    Softwire,
    Translation,
)
from natxy.plan.model.terms import CORES, EDGES, Family, MapEnd, SoftwireEnd, TranslationKind

# The links between two gateways have shared address space (RFC 6598), or that of the benchmark block of IPv6.
_LINKS: Final = {Family.IPV4: "100.64.{}.{}/24", Family.IPV6: "2001:2:0:400{}::{}/64"}
# The ends of a softwire have addresses that are routed to their gateways and that no link has: where the kernel takes
# packets out of IPv6 by a route (seg6local), an address of its own would come before the route.
_SOFTWIRES: Final = "2001:2:0:500{}::{}"
_LEFT_END, _RIGHT_END = 1, 2
# A subscriber of MAP-T that is alone has a prefix of its own (RFC 7597, appendix A, example 4).
_SUBSCRIBER: Final = "2001:2:0:500{}::/64"
_DMR: Final = IPv6Network("2001:2:0:64::/64")
OWN_NETWORK: Final = IPv6Network("2001:2:0:4000::/51")
"""Has the IPv6 addresses of all links between gateways, of all ends of softwires and of those of MAP-T."""


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
        own = self.addresses.translation or self.addresses.map_domain
        return own.across(host) if own else host


@dataclass(frozen=True)
class GatewayPath:
    """Holds the boxes from left to right, those that the tester plays included, and the links of the tester at both
    ends."""

    boxes: tuple[Hop, ...]
    ends: AddressPlan

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The gateways."""
        return tuple(box for box in self.boxes if not box.gateway.is_played)

    @property
    def clat(self) -> Translation | None:
        """The IPv6 addresses that IPv4 hosts of both sides have between two translators, if the tester plays one of
        them."""
        if not any(box.gateway.is_played and box.addresses.translation for box in self.boxes):
            return None
        found = (box.addresses.translation for box in self.boxes)
        return next(each for each in found if each and each.kind == TranslationKind.CLAT)

    def hosts(self, left: IPAddress, right: IPAddress) -> list[tuple[IPAddress, IPAddress]]:
        """Returns for each gateway a left host as the gateway's left link has the host, and a right host as its right
        link has the host.

        A host whose addresses are replaced has that of the gateway which replaces them.
        """
        lefts, rights = [left], [right]
        for hop in self.boxes[:-1]:
            seen = None if hop.replaces_left else hop.across(lefts[-1])
            lefts.append(seen or hop.addresses.public.network_address)
        for hop in self.boxes[:0:-1]:
            rights.append(hop.across(rights[-1]) or hop.addresses.left.dut.ip)
        pairs = zip(self.boxes, lefts, rights[::-1], strict=True)
        return [(left, right) for box, left, right in pairs if not box.gateway.is_played]


def kinds_of(gateway: GatewayConfig, families: tuple[Family, Family], translation: Translation | None) -> Kinds | None:
    """Returns what each gateway does between families; None if a chain does not lead from one family to the other."""
    kind = translation.kind if translation else None
    return gateway.kinds(*families, kind) if isinstance(gateway, ChainConfig) else (kind,)


def forms_of_links(left: Family, kinds: Kinds) -> tuple[LinkForm, ...]:
    """Returns the form of frames on each link, from the left end to the right one."""
    forms = [LinkForm(left)]
    for kind in kinds:
        before = forms[-1]
        if kind:
            before = LinkForm(kind.families[1], in_softwire=kind == SoftwireEnd.EDGE, mapped=kind == MapEnd.EDGE)
        forms.append(before)
    return tuple(forms)


def path_of(
    gateway: GatewayConfig,
    kinds: Kinds,
    ends: AddressPlan,
    left: Family,
    left_hosts: AddressRanges,
    subscribers: Bindings | None = None,
    core: IPv6Address | None = None,
) -> GatewayPath:
    """Returns the path between the `ends`, whose left link has the family `left`.

    A link between two gateways has addresses of natxy's own. `left_hosts` get addresses where a clat translates.
    `subscribers`: those whose ends of softwires or of MAP-T the tester plays; None for a single one. `core`: the
    address of the core's end of their softwires; None for one of natxy's own.
    """
    boxes = gateway.boxes
    if len(boxes) == 1:
        return GatewayPath((Hop(gateway, ends),), ends)
    forms = forms_of_links(left, kinds)
    between = [_between(forms[number].family, number) for number in range(1, len(kinds))]
    rights = [*(link[0] for link in between), ends.right.dut]
    translations: list[Translation | None] = []
    ones: dict[int, tuple[IPAddress, PortSet]] = {}
    ports = PortSet()
    for number, (hop, kind, right) in enumerate(zip(boxes, kinds, rights, strict=True)):
        translations.append(_translation(kind, right, ends, left_hosts))
        if kind == MapEnd.EDGE and hop.hides_left:
            # It is a NAT besides (RFC 7599 §4): its one subscriber has the NAT's own address.
            ones[number] = (_hidden_behind(number, ends).network_address, hop.own_ports or PortSet())
        elif kind == MapEnd.EDGE:
            ones[number] = (left_hosts.first, ports)
        if hop.hides_left and kind is None:
            # What comes next sees the address of this gateway instead of the hosts'.
            left_hosts, ports = AddressRanges.model_validate(right.ip), hop.own_ports or PortSet()
    crossings = [
        Crossing(translation, right.network if hop.hides_left and not isinstance(kind, TranslationKind) else None)
        for translation, kind, hop, right in zip(translations, kinds, boxes, rights, strict=True)
    ]
    played = tuple(box.is_played for box in boxes)
    softwires = _Softwires(kinds, played, subscribers, core)
    prefix = next((box.mapping_prefix for box in boxes if box.mapping_prefix), _DMR)
    # The plan's checks refuse other subscribers of MAP-T.
    rule = subscribers if isinstance(subscribers, MapRule) else None
    domains = _MapDomains(kinds, played, rule, ones, prefix, all(box.takes_given_psid for box in boxes))
    carriers = _Carriers(softwires, domains)
    seen_left = _left_networks(ends, carriers, crossings)
    seen_right = _right_networks(ends, carriers, crossings)
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
                map_domain=domains.end(number, seen_right[number]),
                pool=_pool(number, ends, crossings[number], kinds),
                mtu=ends.mtu,
            ),
        )
        for number, hop in enumerate(boxes)
    ]
    real = tuple(hop for hop in hops if not hop.gateway.is_played)
    # The tester's ports are on the links of the outer gateways.
    outer = {"left": real[0].addresses.left, "right": real[-1].addresses.right}
    return GatewayPath(tuple(hops), ends.model_copy(update=outer))


def _link(own: IPInterface, other: IPInterface, behind: Networks) -> LinkAddresses:
    """Returns a link between two gateways, as one of them has it; its own network needs no route."""
    beyond = dict.fromkeys(each for each in behind if each.network_address not in own.network)
    return LinkAddresses(dut=own, tester=other, behind=tuple(beyond))


def _between(family: Family, number: int) -> tuple[IPInterface, IPInterface]:
    """Returns the addresses of a link's two gateways, the left one's first."""
    left, right = (ip_interface(_LINKS[family].format(number, end)) for end in (_LEFT_END, _RIGHT_END))
    return left, right


def _pool(number: int, ends: AddressPlan, crossing: Crossing, kinds: Kinds) -> IPNetwork | None:
    """Returns the addresses by which gateway `number` replaces those of left hosts, where they are not its own on its
    right link."""
    if kinds[number] in EDGES and crossing.hidden_in:
        return _hidden_behind(number, ends)
    is_at_the_end = number == len(kinds) - 1 and not isinstance(kinds[number], TranslationKind)
    return ends.pool if is_at_the_end else None


def _hidden_behind(number: int, ends: AddressPlan) -> IPNetwork:
    """Returns the IPv4 addresses of gateway `number`, a NAT whose right link has IPv6 alone."""
    return ends.pool or ip_network(_between(Family.IPV4, number + 1)[0].ip)


@dataclass(frozen=True)
class _Softwires:
    """Holds which gateways are ends of softwires, and which of the boxes the tester plays."""

    kinds: Kinds
    played: tuple[bool, ...]
    subscribers: Bindings | None
    core: IPv6Address | None

    def edge_of(self, number: int) -> int:
        """Returns the edge of the softwire that gateway `number` is an end of."""
        return max(other for other in range(number + 1) if self.kinds[other] == SoftwireEnd.EDGE)

    def bindings(self, number: int) -> Bindings | None:
        """Returns the subscribers, if it is their softwires that gateway `number` is an end of."""
        return self.subscribers if self.played[self.edge_of(number)] else None

    def addresses(self, number: int) -> tuple[IPv6Address, IPv6Address]:
        """Returns the addresses of the edge, that of the first subscriber, and of the core."""
        edge = self.edge_of(number)
        left, right = (IPv6Address(_SOFTWIRES.format(edge, end)) for end in (_LEFT_END, _RIGHT_END))
        several = self.bindings(number)
        return (several.subscriber(0).address, self.core or right) if several else (left, right)

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
        of_core = None if is_edge else self.bindings(number)
        if isinstance(of_core, Homes):
            carries = {IPv4Network(of_core.inner): None}
        return Softwire(end=kind, own=own, far=far, carries=tuple(carries), subscribers=of_core)


@dataclass(frozen=True)
class _MapDomains:
    """Holds which gateways are ends of MAP-T, which of the boxes the tester plays, for each edge the address and the
    ports of its one subscriber, and whether all boxes take a PSID that is not among the EA bits."""

    kinds: Kinds
    played: tuple[bool, ...]
    subscribers: MapRule | None
    ones: dict[int, tuple[IPAddress, PortSet]]
    prefix: IPv6Network
    psid_is_given: bool

    def rule(self, number: int) -> tuple[MapRule, int | None]:
        """Returns the rule of the domain that gateway `number` is an end of, and the number of its subscriber, if it is
        one."""
        edge = max(other for other in range(number + 1) if self.kinds[other] == MapEnd.EDGE)
        if self.subscribers and self.played[edge]:
            return self.subscribers, None
        address, ports = self.ones[edge]
        assert address.version == 4, "the frames before an edge are IPv4"
        own = IPv6Network(_SUBSCRIBER.format(edge))
        ea_length, given = (0, ports.psid_length) if self.psid_is_given else (ports.psid_length, 0)
        return MapRule(own, IPv4Network(address), ea_length, ports.offset, given), ports.psid

    def end(self, number: int, rights: Networks) -> MapDomain | None:
        """Returns the end of MAP-T that gateway `number` is, if it is one. `rights`: the right networks as its left
        link has them."""
        kind = self.kinds[number]
        if not isinstance(kind, MapEnd):
            return None
        rule, only = self.rule(number)
        carries = tuple(each for each in rights if isinstance(each, IPv4Network)) if kind == MapEnd.EDGE else ()
        return MapDomain(end=kind, rule=rule, only=only, prefix=self.prefix, carries=tuple(dict.fromkeys(carries)))


@dataclass(frozen=True)
class _Carriers:
    """Says which networks have the ends of softwires and of MAP-T between them."""

    softwires: _Softwires
    domains: _MapDomains

    @property
    def kinds(self) -> Kinds:
        return self.softwires.kinds

    def left_networks(self, number: int) -> Networks:
        """Returns the networks that stand for the left ones, between the edge `number` and its core."""
        if self.kinds[number] == MapEnd.EDGE:
            rule, only = self.domains.rule(number)
            return (rule.ipv6 if only is None else rule.subscriber(only).prefix,)
        several = self.softwires.bindings(number)
        return (several.ipv6 if several else ip_network(self.softwires.addresses(number)[0]),)

    def right_networks(self, number: int, beyond: Networks) -> Networks:
        """Returns the networks that stand for the right ones `beyond` the core `number`, between it and its edge."""
        if self.kinds[number] == MapEnd.CORE:
            return tuple(
                embedded_network(self.domains.prefix, each) for each in beyond if isinstance(each, IPv4Network)
            )
        return (ip_network(self.softwires.addresses(number)[1]),)


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


def _left_networks(ends: AddressPlan, carriers: _Carriers, crossings: Sequence[Crossing]) -> list[Networks]:
    """Returns the networks of the left end as each link sees them, from the left end to the right one."""
    found: list[Networks] = [(ends.left.dut.network, *ends.left.behind)]
    carried: list[Networks] = []
    for number, (kind, crossing) in enumerate(zip(carriers.kinds, crossings, strict=True)):
        if kind in EDGES:
            carried.append(() if crossing.hidden_in else found[-1])
            found.append(carriers.left_networks(number))
        elif kind in CORES:
            networks = carried.pop()
            found.append((crossing.hidden_in,) if crossing.hidden_in else networks)
        else:
            found.append(crossing.left_networks(found[-1]))
    return found


def _right_networks(ends: AddressPlan, carriers: _Carriers, crossings: Sequence[Crossing]) -> list[Networks]:
    """Returns the networks of the right end likewise."""
    kinds = carriers.kinds
    found: list[Networks] = [(ends.right.dut.network, *ends.right.behind)]
    carried: list[Networks] = []
    for number in reversed(range(len(kinds))):
        if kinds[number] in CORES:
            carried.append(found[-1])
            found.append(carriers.right_networks(number, found[-1]))
        elif kinds[number] in EDGES:
            found.append(carried.pop())
        else:
            found.append(crossings[number].right_networks(found[-1]))
    return found[::-1]
