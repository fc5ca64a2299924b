# SPDX-License-Identifier: Apache-2.0
"""The default addresses and ports of test traffic.

Addresses are from the benchmark blocks of RFC 2544 C.2.2 and RFC 5180. A side that the gateway hides is private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_interface, ip_network
from typing import Final

from natxy.addressing.embedding import embedded, embedded_network, moved_bit
from natxy.plan.crossings import PREFIX, clat_mappings
from natxy.plan.hosts import Addresses, PortPair, Ports
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressMapping, AddressPreset, IPNetwork, LinkAddresses, Translation
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.subscribers import AnySubscribers, AnySubscribersPlan, Subscribers
from natxy.plan.model.table_subscribers import TableSubscribers, TableSubscribersPlan
from natxy.plan.model.terms import Family, TranslationKind
from natxy.plan.model.traffic import PortRange
from natxy.plan.written import AddressesPlan, PortsPlan, TranslationPlan

# Test traffic may go to benchmark blocks (RFC 6890, RFC 5180 with its erratum), private blocks and shared ones.
SAFE_NETWORKS: Final = tuple(
    ip_network(text)
    for text in (
        "198.18.0.0/15",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "2001:2::/48",
        "fc00::/7",
    )
)


# RFC 4814 §4. Stateful tests need smaller ranges, which would otherwise make 3.17·10⁹ connections (RFC 9693 §4.4).
RANDOM_PORTS: Final = Ports(source=PortRange(min=1024, max=65535), destination=PortRange(min=1, max=49151))
FIRST_SOURCE_PORT: Final = 10_000
MOST_SOURCE_PORTS: Final = 40_000
FIRST_DESTINATION_PORT: Final = 1000
_LAST_PORT: Final = 65535


def is_safe(hosts: AddressRanges) -> bool:
    """Reports whether test traffic may go to these hosts without explicit permission (RFC 6815)."""
    return all(each.within(SAFE_NETWORKS) for each in hosts.ranges)


def _link(dut: str, tester: str, behind: str) -> LinkAddresses:
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(ip_network(behind),))


def _link_to(link: LinkAddresses, networks: int) -> LinkAddresses:
    """Returns the link with `networks` networks behind it: equal parts of an IPv4 prefix, or IPv6 /64s."""
    if networks == 1:
        return link
    space = _NETWORKS[link]
    if space.version == 6:
        space = next(space.subnets(new_prefix=65 - networks.bit_length()))
    return link.model_copy(update={"behind": (space,), "networks": networks})


def _link_with(link: LinkAddresses, on_link: int) -> LinkAddresses:
    """Returns the link with room for so many hosts on itself, and with these instead of networks behind it."""
    prefix = 16 if link.dut.version == 4 else link.dut.network.prefixlen
    dut, tester = (ip_interface(f"{each.ip}/{prefix}") for each in (link.dut, link.tester))
    return LinkAddresses(dut=dut, tester=tester, on_link=on_link)


def _played_in(link: LinkAddresses, preset: AddressPreset) -> AddressRanges:
    """Returns one host in each of the link's networks, or as many as the preset has."""
    first, *_, last = link.routes
    host_bits = first.max_prefixlen - first.prefixlen
    if preset == AddressPreset.SINGLE:
        return _hosts(str(first[_HOST]), str(last[_HOST]), host_bits)
    if first.version == 6:
        return _hosts(str(first[_HOST]), str(last[(0xFFFF << 48) + _HOST]), 48)
    return _hosts(str(first[0]), str(last[-1]))


def _mapping(ipv4: str, ipv6: str) -> AddressMapping:
    return AddressMapping(ipv4=IPv4Network(ipv4), ipv6=IPv6Network(ipv6))


def _hosts(first: str, last: str, low_bit: int = 0) -> AddressRanges:
    return AddressRanges.model_validate({"first": first, "last": last, "low_bit": low_bit})


# Varying IPv4 addresses are outside the link's own /24, behind the tester's link address. IPv6 addresses vary in bits
# 96 to 111.
_PRIVATE_V4: Final = _link("10.0.0.1/24", "10.0.0.2/24", "10.0.0.0/16")
_LEFT_V4: Final = _link("198.18.0.1/24", "198.18.0.2/24", "198.18.0.0/16")
_RIGHT_V4: Final = _link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16")
_PRIVATE_V6: Final = _link("fd00:2::1/64", "fd00:2::2/64", "fd00:2:0:1::/64")
_LEFT_V6: Final = _link("2001:2::1/64", "2001:2::2/64", "2001:2:0:1::/64")
_RIGHT_V6: Final = _link("2001:2:0:8000::1/64", "2001:2:0:8000::2/64", "2001:2:0:8001::/64")

_MANY: Final = {
    _PRIVATE_V4: _hosts("10.0.1.0", "10.0.255.254"),
    _LEFT_V4: _hosts("198.18.1.0", "198.18.255.254"),
    _RIGHT_V4: _hosts("198.19.1.0", "198.19.255.254"),
    _PRIVATE_V6: _hosts("fd00:2:0:1::2", "fd00:2:0:1::ffff:2", low_bit=16),
    _LEFT_V6: _hosts("2001:2:0:1::2", "2001:2:0:1::ffff:2", low_bit=16),
    _RIGHT_V6: _hosts("2001:2:0:8001::2", "2001:2:0:8001::ffff:2", low_bit=16),
}


# The space for networks with routes of their own, outside the networks of the links.
_NETWORKS: Final = {
    _PRIVATE_V4: ip_network("10.0.128.0/17"),
    _LEFT_V4: ip_network("198.18.128.0/17"),
    _RIGHT_V4: ip_network("198.19.128.0/17"),
    _PRIVATE_V6: ip_network("fd00:2:0:1000::/52"),
    _LEFT_V6: ip_network("2001:2:0:1000::/52"),
    _RIGHT_V6: ip_network("2001:2:0:9000::/52"),
}
_HOST: Final = 2

# IPv6 hosts that are mapped to IPv4 addresses vary in their last 16 bits, as these do.
_MAPPED: Final = {
    _LEFT_V6: _hosts("2001:2:0:1::100", "2001:2:0:1::fffe"),
    _RIGHT_V6: _hosts("2001:2:0:8001::100", "2001:2:0:8001::fffe"),
}

_POOLS: Final[Mapping[int, IPNetwork]] = {4: IPv4Network("198.18.0.0/24"), 6: IPv6Network("2001:2:0:8064::/120")}
_MAPPINGS: Final[Mapping[tuple[TranslationKind | None, AddressPreset], AddressMapping]] = {
    (TranslationKind.SIIT, AddressPreset.SINGLE): _mapping("198.18.0.2/32", "2001:2::2/128"),
    (TranslationKind.SIIT, AddressPreset.MULTIPLE): _mapping("198.18.0.0/16", "2001:2:0:1::/112"),
    (TranslationKind.NAT46, AddressPreset.SINGLE): _mapping("198.19.0.2/32", "2001:2:0:8000::2/128"),
    (TranslationKind.NAT46, AddressPreset.MULTIPLE): _mapping("198.19.0.0/16", "2001:2:0:8001::/112"),
}


def resolve_addresses(
    plan: AddressesPlan,
    family: Family,
    translation: TranslationKind | None,
    *,
    hiding: bool,
    many_pairs: bool = False,
    prefix: IPv6Network = PREFIX,
) -> Addresses:
    """Returns the addresses as written, completed from the preset.

    `family` is that of both sides if there is no `translation`. With `hiding`, the gateway hides the left side, which
    then has private addresses. With `many_pairs`, one host on each link leaves room beside it for further pairs. Behind
    a clat, the right hosts have the IPv6 addresses of IPv4 hosts behind the `prefix`.
    """
    left_family, right_family = translation.families if translation else (family, family)
    private = hiding and translation is None
    if left_family == Family.IPV4:
        left = _PRIVATE_V4 if private else _LEFT_V4
    else:
        left = _PRIVATE_V6 if private else _LEFT_V6
    right = _RIGHT_V4 if right_family == Family.IPV4 else _RIGHT_V6
    many = _MANY | _MAPPED if (translation, AddressPreset.MULTIPLE) in _MAPPINGS else _MANY
    of_clat = None
    if translation == TranslationKind.CLAT:
        networks = (each for each in _RIGHT_V4.behind if isinstance(each, IPv4Network))
        of_clat = right = right.model_copy(
            update={"behind": tuple(embedded_network(prefix, each) for each in networks)}
        )
        many = many | {right: _behind(prefix, _MANY[_RIGHT_V4])}
    # The plan's checks refuse networks with a translation.
    networks_asked = 1 if translation else plan.networks
    left, right = (plan.left or _link_to(left, networks_asked)), (plan.right or _link_to(right, networks_asked))

    if many_pairs and plan.preset == AddressPreset.SINGLE and plan.networks == 1:
        alone = {"behind": ()}
        left, right = (plan.left or left.model_copy(update=alone)), (plan.right or right.model_copy(update=alone))

    if plan.on_link:
        left, right = (plan.left or _link_with(left, plan.on_link)), (plan.right or _link_with(right, plan.on_link))

    def played(link: LinkAddresses) -> AddressRanges:
        if hosts := link.hosts_on_link:
            return _hosts(str(hosts[0]), str(hosts[-1]))
        if plan.networks > 1 and link.networks == plan.networks:
            return _played_in(link, plan.preset)
        if plan.preset == AddressPreset.MULTIPLE and link in many:
            return many[link]
        if link == of_clat:
            return _behind(prefix, AddressRanges.model_validate(_RIGHT_V4.tester.ip))
        return AddressRanges.model_validate(link.tester.ip)

    return Addresses(
        preset=plan.preset,
        left=left,
        right=right,
        left_hosts=plan.left_hosts or played(left),
        right_hosts=plan.right_hosts or played(right),
        pool=plan.pool,
    )


def _behind(prefix: IPv6Network, hosts: AddressRanges) -> AddressRanges:
    """Returns the IPv6 addresses of IPv4 hosts."""
    first, last = (embedded(prefix, IPv4Address(end)) for end in (hosts.first, hosts.ranges[-1].last))
    low_bit = moved_bit(prefix, int(hosts.first) ^ int(hosts.ranges[-1].last), 0)
    # The plan's checks refuse a prefix with which bits 64 to 71 divide those that vary.
    return _hosts(str(first), str(last), low_bit) if low_bit is not None else _hosts(str(first), str(first))


def resolve_translation(plan: TranslationPlan, addresses: Addresses) -> Translation:
    dut = addresses.right.dut.ip
    pool: IPNetwork = _POOLS[dut.version] if addresses.preset == AddressPreset.MULTIPLE else ip_network(dut)
    mapping = _MAPPINGS.get((plan.kind, addresses.preset))
    usual = clat_mappings(addresses.left_hosts) if plan.kind == TranslationKind.CLAT else (mapping,) if mapping else ()
    return Translation(
        kind=plan.kind,
        prefix=plan.prefix or PREFIX,
        pool=plan.pool or pool,
        mappings=usual if plan.mappings is None else plan.mappings,
    )


def resolve_subscribers(plan: AnySubscribersPlan, left: LinkAddresses) -> AnySubscribers:
    """Returns the subscribers; by rule they have by default addresses behind the left link, outside of the link
    itself."""
    if isinstance(plan, HomesPlan):
        return plan
    if isinstance(plan, TableSubscribersPlan):
        return TableSubscribers.of(plan)
    ipv4 = plan.ipv4
    if ipv4 is None:
        behind = next((each for each in left.behind if isinstance(each, IPv4Network)), None)
        space = behind or IPv4Network("198.18.0.0/16")
        # In the upper half, so that the link's own network is another one.
        upper = [*space.subnets(prefixlen_diff=1)][-1]
        ipv4 = next(upper.subnets(new_prefix=max(24, upper.prefixlen)))
    return Subscribers.model_validate(plan.model_dump() | {"ipv4": str(ipv4)})


def resolve_ports(own: PortsPlan, flows: int | None, limits: tuple[int, int] = (0, _LAST_PORT)) -> Ports:
    """Returns the ports as written, completed to hold `flows`, which may be connections, or the ranges of RFC 4814.

    No range that the plan leaves out has ports beyond the `limits`, the lowest and the highest one.
    """
    default = _random_ports(*limits) if flows is None else _ports_for(flows, *limits)
    source, destination = own.source or default.source, own.destination or default.destination
    if own.reverse is None:
        return Ports(source=source, destination=destination)
    reverse = PortPair(source=own.reverse.source or source, destination=own.reverse.destination or destination)
    return Ports(source=source, destination=destination, reverse=reverse)


def _random_ports(lowest: int, highest: int) -> Ports:
    source, destination = (
        # Subscribers may have only ports that RFC 4814 leaves out.
        PortRange(min=max(each.min, lowest), max=min(each.max, highest))
        if lowest <= each.max and each.min <= highest
        else PortRange(min=lowest, max=highest)
        for each in (RANDOM_PORTS.source, RANDOM_PORTS.destination)
    )
    return Ports(source=source, destination=destination)


def _ports_for(flows: int, lowest: int, highest: int) -> Ports:
    """Returns the smallest ranges that hold the flows with one address on each side."""
    first_source, first_destination = (
        max(usual if usual <= highest else lowest, lowest) for usual in (FIRST_SOURCE_PORT, FIRST_DESTINATION_PORT)
    )
    destinations = math.ceil(flows / min(MOST_SOURCE_PORTS, highest + 1 - first_source))
    sources = math.ceil(flows / destinations)
    return Ports(
        source=PortRange(min=first_source, max=first_source + sources - 1),
        destination=PortRange(min=first_destination, max=min(first_destination + destinations - 1, highest)),
    )
