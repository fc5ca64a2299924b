# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_network

import pytest

from natxy.plan.crossings import Crossing, bytes_longer, clat_mappings
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressMapping, Translation
from natxy.plan.model.terms import Family

MAPPING = AddressMapping.model_validate({"ipv4": "10.1.0.0/24", "ipv6": "2001:2:0:9::/120"})


def of(kind: str | None, *, hides: bool = False) -> Crossing:
    if kind is None:
        return Crossing(hidden_in=ip_network("198.19.0.0/24") if hides else None)
    fields = {"kind": kind, "prefix": "2001:2:0:64::/96", "pool": "198.19.0.1", "mappings": [MAPPING]}
    return Crossing(Translation.model_validate(fields))


@pytest.mark.parametrize(
    ("crossing", "left", "seen_right", "right", "seen_left"),
    [
        (of(None), "10.0.0.0/8", ["10.0.0.0/8"], "198.19.0.0/16", ["198.19.0.0/16"]),
        (of(None, hides=True), "10.0.0.0/8", ["198.19.0.0/24"], "198.19.0.0/16", ["198.19.0.0/16"]),
        (of("nat64"), "2001:2::/64", ["198.19.0.1/32"], "198.19.0.0/24", ["2001:2:0:64::c613:0/120"]),
        (of("siit"), "2001:2::/64", ["10.1.0.0/24"], "198.19.0.0/24", ["2001:2:0:64::c613:0/120"]),
        (of("nat46"), "198.18.0.0/24", ["2001:2:0:64::c612:0/120"], "2001:2::/64", ["10.1.0.0/24"]),
        (of("clat"), "10.1.0.0/24", ["2001:2:0:9::/120"], "2001:2:0:64::c613:0/120", ["198.19.0.0/24"]),
        # The network of an IPv6 link stands for no IPv4 hosts.
        (of("clat"), "10.1.0.0/24", ["2001:2:0:9::/120"], "2001:2:0:4001::/64", []),
    ],
)
def test_networks_are_seen_from_the_other_side(
    crossing: Crossing, left: str, seen_right: list[str], right: str, seen_left: list[str]
) -> None:
    assert [str(each) for each in crossing.left_networks([ip_network(left)])] == seen_right
    assert [str(each) for each in crossing.right_networks([ip_network(right)])] == seen_left


def test_a_frame_is_longer_in_ipv6() -> None:
    assert bytes_longer(Family.IPV6, than=Family.IPV4) == 20
    assert bytes_longer(Family.IPV4, than=Family.IPV6) == -20
    assert bytes_longer(Family.IPV6, than=Family.IPV6) == 0


@pytest.mark.parametrize(
    ("first", "last", "mapping"),
    [
        ("10.0.0.2", "10.0.0.2", ("10.0.0.2/32", "2001:2:0:46::a00:2/128")),
        ("10.0.1.0", "10.0.255.254", ("10.0.0.0/16", "2001:2:0:46::a00:0/112")),
        ("10.0.0.126", "10.0.0.129", ("10.0.0.0/24", "2001:2:0:46::a00:0/120")),
    ],
)
def test_a_clat_maps_the_smallest_network_of_its_hosts(first: str, last: str, mapping: tuple[str, str]) -> None:
    [found] = clat_mappings(AddressRanges.model_validate({"first": first, "last": last}))
    assert (str(found.ipv4), str(found.ipv6)) == mapping


def test_a_clat_has_a_mapping_for_each_range() -> None:
    found = clat_mappings(AddressRanges.model_validate(["10.0.0.2", "198.18.0.2"]))
    assert [str(each.ipv4) for each in found] == ["10.0.0.2/32", "198.18.0.2/32"]
    assert clat_mappings(AddressRanges.model_validate("2001:2::2")) == ()
