# SPDX-License-Identifier: Apache-2.0
"""Writes the addresses and the translation of a plan from the addresses of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network
from typing import Final

from natxy.api.plans import is_safe
from natxy.api.terms import AddressRange, AddressRanges, Family, IPAddress, IPNetwork, LinkAddresses, TranslationKind
from natxy_siitperf.arguments import flow_space
from natxy_siitperf.conf import Conf
from natxy_siitperf.importing.links import link_around
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.text import Field, mapping, quoted
from natxy_siitperf.sides import Letter, destination_key, family, hosts, networks, order_of, real_key

_EMBEDDING_LENGTH: Final = 96
_LOW_32: Final = 0xFFFF_FFFF
_POOL: Final = "pool is a guess"


@dataclass(frozen=True)
class Played:
    """The hosts that the tester plays on a side, its own address there, and the keys that both are from."""

    real: IPAddress
    hosts: AddressRange
    networks: int
    keys: tuple[str, ...]


def address_fields(source: Source, pool: IPv4Network | None) -> list[Field]:
    """Returns `translation` and `addresses`, one of which has the pool."""
    left, right = played(source, source.left), played(source, source.right)
    fields = []
    links = {name: link_of(source, side) for name, side in (("left", source.left), ("right", source.right))}
    for name, side in (("left", left), ("right", right)):
        fields.append(Field(name, _link(links[name]), source.of(*side.keys)))
    for name, side in (("left", left), ("right", right)):
        if side.hosts.first != links[name].tester.ip or side.hosts.size > 1:
            own = _forwarded(source, links[name], side.hosts)
            fields.append(Field(f"{name}_hosts", _hosts(own), source.of(*side.keys)))
    if pool and source.translation is None:
        fields.append(Field("pool", str(pool), _POOL))
    return [*_translation(source, left, right, pool), Field("addresses", fields)]


def _forwarded(source: Source, link: LinkAddresses, of_side: AddressRange) -> AddressRange:
    """Returns the hosts without those up to the broadcast address of the gateway's link, to which no router forwards.

    Where more are below it than above it, these remain. A range cannot leave out one address alone.
    """
    network, low_bit = link.dut.network, of_side.low_bit
    broadcast, step = network.broadcast_address, 1 << low_bit
    if network.version == 6 or of_side.size == 1 or broadcast not in of_side:
        return of_side
    if int(of_side.last) - int(broadcast) >= int(broadcast) - int(of_side.first):
        first, last = broadcast + step, of_side.last
    else:
        first, last = of_side.first, broadcast - step
    rest = AddressRange(first=first, last=last, low_bit=low_bit)
    text = f"{broadcast} is the broadcast address of {network}, and no router forwards frames to that of its own link: "
    if source.stateful and flow_space(source.conf, source.first) * rest.size < source.most_connections * of_side.size:
        source.differences.append(f"{text}connections to this host fail. Ask for fewer, or for other hosts.")
        return of_side
    source.differences.append(f"{text}the plan has the hosts {first} to {last}, {of_side.size - rest.size:,} fewer.")
    return rest


def link_of(source: Source, side: Letter) -> LinkAddresses:
    """Returns the link of a side. Raises ConfError if its hosts leave no address for the gateway."""
    own = played(source, side)
    far = played(source, side.opposite).real
    link = link_around(own.real, own.hosts, 1 << (own.networks - 1).bit_length(), far)
    if link is None:
        text = (
            f"{own.hosts.first} to {own.hosts.last} leave no address of their link for the gateway; raise it, or lower "
        )
        raise source.conf.wrong(f"IP-{side}-min", f"a plan cannot express it: {text}IP-{side}-max")
    return link


def are_public(source: Source) -> bool:
    """Returns whether frames go to addresses outside the benchmark and private ranges."""
    reached = [played(source, side).hosts for side in (source.left, source.right)]
    if of_mapping := mapping_key(source):
        reached.append(hosts(source.conf, *of_mapping))
    if source.has_background:
        reached += [hosts(source.conf, side, real_key(side, Family.IPV6)) for side in Letter]
    return not all(is_safe(AddressRanges.model_validate([each])) for each in reached)


def played(source: Source, side: Letter) -> Played:
    """Returns what the tester plays on a side, in that side's own family."""
    conf, own = source.conf, family(source.conf, side)
    key = real_key(side, own)
    towards = source.first if side is source.right else source.second
    count = conf.number(f"Num-{side}-Nets") if towards in source.sending else 1
    if count > 1 and source.translation:
        text = "a plan's networks are for gateways that do not change the family; set it to 1"
        raise conf.wrong(f"Num-{side}-Nets", f"a plan cannot express it: {text}")
    if not conf.has(key) and own == Family.IPV4 and source.translation:
        # A responder's own address is in the one that the initiator sends to, which the translator's prefix precedes.
        key = destination_key(conf, side, family(conf, source.left))
        embedded = hosts(conf, side, key)
        return Played(_embedded(embedded.first), _embedded_range(source, side, key), 1, keys_of_hosts(conf, side, key))
    if count > 1:
        return Played(conf.address(key), networks(conf, side, key), count, (key, f"Num-{side}-Nets"))
    return Played(conf.address(key), hosts(conf, side, key), 1, keys_of_hosts(conf, side, key))


def keys_of_hosts(conf: Conf, side: Letter, key: str) -> tuple[str, ...]:
    """Returns the keys that `hosts` reads for the address of a key."""
    if order_of(conf, side) is None:
        return (key,)
    varying = (f"IP-{side}-{of}" for of in ("var", "min", "max"))
    return (key, *varying, f"IPv{conf.address(key).version}-{side}-offset")


def prefix_key(source: Source) -> tuple[Letter, str] | None:
    """Returns the key of the IPv6 address that stands for IPv4 hosts behind a translator, and their side; None if there
    is no such address."""
    if source.translation is None:
        return None
    side = source.left if source.translation == TranslationKind.NAT46 else source.right
    key = f"IPv6-{side}-Virt"
    return (side, key) if source.conf.has(key) else None


def mapping_key(source: Source) -> tuple[Letter, str] | None:
    """Returns the key of the IPv4 address that stands for IPv6 hosts, and their side; None if no translator has it.

    Raises ConfError if the key is missing.
    """
    if source.translation in {None, TranslationKind.NAT64}:
        return None
    side = source.right if source.translation == TranslationKind.NAT46 else source.left
    key = f"IPv4-{side}-Virt"
    if not source.conf.has(key):
        raise source.conf.missing(key, "; a plan's translation has an IPv4 address for each IPv6 host")
    return side, key


def mapped_hosts(source: Source) -> int:
    """Returns how many hosts the plan's mapping has; 0 without one."""
    if not (of_mapping := mapping_key(source)):
        return 0
    side, virtual = of_mapping
    return _mapping(source, side, virtual, played(source, side))["ipv4"].num_addresses


def _translation(source: Source, left: Played, right: Played, pool: IPv4Network | None) -> list[Field]:
    if source.translation is None:
        return []
    conf = source.conf
    played_on = {source.left: left, source.right: right}
    settings: dict[str, object] = {"kind": source.translation.value}
    keys = ["IP-L-Vers", "IP-R-Vers", "Stateful"]
    if of_prefix := prefix_key(source):
        side, virtual = of_prefix
        address, four_hosts = conf.address(virtual), played_on[side].hosts
        settings["prefix"] = ip_network((address, _EMBEDDING_LENGTH), strict=False)
        keys += keys_of_hosts(conf, side, virtual)
        if _embedded_range(source, side, virtual) != four_hosts:
            source.differences.append(
                f"{virtual} is {address}, and a plan's translator has IPv4 hosts in the last 32 bits of a prefix (RFC "
                f"6052): the plan sends to {settings['prefix']} with {four_hosts.first} in these bits, and the "
                "gateway needs that prefix instead of a mapping of these hosts."
            )
    if of_mapping := mapping_key(source):
        side, virtual = of_mapping
        settings["mappings"] = [_mapping(source, side, virtual, played_on[side])]
        keys += keys_of_hosts(conf, side, virtual)
    if pool:
        settings["pool"] = pool
    return [Field("translation", mapping(settings), source.of(*keys) + (f"; {_POOL}" if pool else ""))]


def _mapping(source: Source, side: Letter, virtual: str, mapped: Played) -> dict[str, IPNetwork]:
    """Returns the shortest mapping that has all hosts of a side, as the IPv4 addresses that represent them."""
    four, six = hosts(source.conf, side, virtual), mapped.hosts
    bits = max((int(each.first) ^ int(each.last)).bit_length() for each in (four, six))
    bits += -bits % 8
    low = (1 << bits) - 1
    same = int(four.first) & low == int(six.first) & low and four.low_bit == six.low_bit
    if bits > 32 or (bits and not same):
        text = "the IPv4 and the IPv6 addresses of this side vary in bytes that a mapping of prefixes does not join; "
        raise source.conf.wrong(
            f"IPv6-{side}-offset", f"a plan cannot express it: {text}use offset 2 for IPv4, and 14 for IPv6"
        )
    return {
        "ipv4": ip_network((four.first, 32 - bits), strict=False),
        "ipv6": ip_network((six.first, 128 - bits), strict=False),
    }


def _embedded(address: IPAddress) -> IPAddress:
    return IPv4Address(int(address) & _LOW_32) if isinstance(address, IPv6Address) else address


def _embedded_range(source: Source, side: Letter, key: str) -> AddressRange:
    """Returns the IPv4 hosts in the last 32 bits of the IPv6 addresses of a key."""
    of_key = hosts(source.conf, side, key)
    if int(of_key.first) >> 32 != int(of_key.last) >> 32:
        text = "the bytes that vary are before the IPv4 address, so that the prefix varies; expected 12 to 14"
        raise source.conf.wrong(f"IPv6-{side}-offset", f"a plan cannot express it: {text}")
    return AddressRange(first=_embedded(of_key.first), last=_embedded(of_key.last), low_bit=of_key.low_bit)


def _link(link: LinkAddresses) -> str:
    return mapping(
        {
            "dut": link.dut,
            "tester": link.tester,
            "behind": list(link.behind) or None,
            "networks": link.networks if link.networks > 1 else None,
        }
    )


def _hosts(of_side: AddressRange) -> str:
    if of_side.size == 1:
        return quoted(of_side.first)
    return mapping({"first": of_side.first, "last": of_side.last, "low_bit": of_side.low_bit or None})


def is_ipv6(source: Source) -> bool:
    return source.translation is None and source.families[0] == Family.IPV6
