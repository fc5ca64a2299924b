# SPDX-License-Identifier: Apache-2.0
"""Writes the addresses and the translation of a plan from the addresses of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_network

from natxy.plan.address_presets import is_safe
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import EMBEDDING_LENGTH, IPAddress, LinkAddresses
from natxy.plan.model.terms import Family, TranslationKind
from natxy.siitperf.importing.links import link_around
from natxy.siitperf.importing.source import Source
from natxy.siitperf.importing.text import Field, mapping, quoted
from natxy.siitperf.sides import Letter, destination_key, family, hosts, networks, real_key

_LOW_32: int = 0xFFFF_FFFF


@dataclass(frozen=True)
class Played:
    """The hosts that the tester plays on a side, its own address there, and the keys that both are from."""

    real: IPAddress
    hosts: AddressRange
    networks: int
    keys: tuple[str, ...]


def address_fields(source: Source) -> list[Field]:
    """Returns `translation` and `addresses`."""
    left, right = played(source, source.left), played(source, source.right)
    fields = []
    for name, side in (("left", left), ("right", right)):
        link = link_of(side)
        fields.append(Field(name, _link(link), source.of(*side.keys)))
    for name, side in (("left_hosts", left), ("right_hosts", right)):
        if side.hosts.first != link_of(side).tester.ip or side.hosts.size > 1:
            fields.append(Field(name, _hosts(side.hosts), source.of(*side.keys)))
    return [*_translation(source, left, right), Field("addresses", fields)]


def link_of(side: Played) -> LinkAddresses:
    return link_around(side.real, side.hosts, 1 << (side.networks - 1).bit_length())


def are_public(source: Source) -> bool:
    """Returns whether hosts are outside the benchmark and private ranges."""
    return not all(
        is_safe(AddressRanges.model_validate([played(source, side).hosts])) for side in (source.left, source.right)
    )


def played(source: Source, side: Letter) -> Played:
    """Returns what the tester plays on a side, in that side's own family."""
    conf, own = source.conf, family(source.conf, side)
    key = real_key(side, own)
    towards = source.first if side is source.right else source.second
    count = conf.number(f"Num-{side}-Nets") if towards in source.sending else 1
    if count > 1 and source.translation:
        text = "a plan's networks are for gateways that do not change the family; set it to 1"
        raise conf.wrong(f"Num-{side}-Nets", f"a plan cannot express it: {text}")
    varies = (f"IP-{side}-var", f"IP-{side}-min", f"IP-{side}-max") if conf.number(f"IP-{side}-var") else ()
    keys = (f"Num-{side}-Nets",) if count > 1 else varies
    if not conf.has(key) and own == Family.IPV4 and source.translation:
        # A responder's own address is in the one that the initiator sends to, which the translator's prefix precedes.
        key = destination_key(conf, side, family(conf, source.left))
        embedded = hosts(conf, side, key)
        return Played(_embedded(embedded.first), _embedded_range(source, side, key), 1, (key, *keys))
    of_side = networks(conf, side, key) if count > 1 else hosts(conf, side, key)
    if varies:
        keys = (*keys, f"IPv{conf.address(key).version}-{side}-offset")
    return Played(conf.address(key), of_side, count, (key, *keys))


def _translation(source: Source, left: Played, right: Played) -> list[Field]:
    kind = source.translation
    if kind is None:
        return []
    conf = source.conf
    four, six = (source.left, source.right) if kind == TranslationKind.NAT46 else (source.right, source.left)
    four_hosts, six_hosts = (left, right) if kind == TranslationKind.NAT46 else (right, left)
    settings: dict[str, object] = {"kind": kind.value}
    keys = ["IP-L-Vers", "IP-R-Vers", "Stateful"]
    virtual = f"IPv6-{four}-Virt"
    if conf.has(virtual):
        address = conf.address(virtual)
        settings["prefix"] = ip_network((address, EMBEDDING_LENGTH), strict=False)
        keys.append(virtual)
        if _embedded_range(source, four, virtual) != four_hosts.hosts:
            source.differences.append(
                f"{virtual} is {address}, and a plan's translator has IPv4 hosts in the last 32 bits of a prefix (RFC "
                f"6052): the plan sends to {settings['prefix']} with {four_hosts.hosts.first} in these bits, and the "
                "gateway needs that prefix instead of a mapping of these hosts."
            )
    if kind != TranslationKind.NAT64:
        virtual = f"IPv4-{six}-Virt"
        if not conf.has(virtual):
            raise conf.missing(virtual, "; a plan's translation has an IPv4 address for each IPv6 host")
        settings["mappings"] = [_mapping(source, six, virtual, six_hosts)]
        keys.append(virtual)
    return [Field("translation", mapping(settings), source.of(*keys))]


def _mapping(source: Source, side: Letter, virtual: str, mapped: Played) -> dict[str, object]:
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
