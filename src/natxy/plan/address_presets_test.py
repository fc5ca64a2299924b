# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.address_presets import resolve_addresses, resolve_ports, resolve_translation
from natxy.plan.crossings import PREFIX
from natxy.plan.hosts import Addresses
from natxy.plan.model.terms import Family, TranslationKind
from natxy.plan.written import AddressesPlan, PortsPlan, TranslationPlan

V4, V6 = Family.IPV4, Family.IPV6
RIGHT_V6 = ("2001:2:0:8001::2", "2001:2:0:8001::ffff:2", 16)
NAT64, NAT46, SIIT = TranslationKind.NAT64, TranslationKind.NAT46, TranslationKind.SIIT


def resolved(
    family: Family = V4, translation: TranslationKind | None = None, *, hiding: bool = False, **plan: Any
) -> Addresses:
    return resolve_addresses(AddressesPlan.model_validate(plan), family, translation, hiding=hiding)


def text(addresses: Addresses) -> list[tuple[str, str, int]]:
    """Returns the first and last host of each side, and the lowest bit that varies."""
    hosts = (addresses.left_hosts, addresses.right_hosts)
    return [(str(each.ranges[0].first), str(each.ranges[0].last), each.ranges[0].low_bit) for each in hosts]


@pytest.mark.parametrize(
    ("family", "translation", "hiding", "left", "right"),
    [
        (V4, None, False, "198.18.0.2", "198.19.0.2"),
        (V4, None, True, "10.0.0.2", "198.19.0.2"),
        (V6, None, False, "2001:2::2", "2001:2:0:8000::2"),
        (V6, None, True, "fd00:2::2", "2001:2:0:8000::2"),
        # A translator hides the left side by another family, not by a private address.
        (V4, NAT64, True, "2001:2::2", "198.19.0.2"),
        (V4, NAT46, True, "198.18.0.2", "2001:2:0:8000::2"),
        (V4, SIIT, False, "2001:2::2", "198.19.0.2"),
    ],
)
def test_a_single_host_is_the_tester_on_each_side(
    family: Family, translation: TranslationKind | None, *, hiding: bool, left: str, right: str
) -> None:
    assert text(resolved(family, translation, hiding=hiding)) == [(left, left, 0), (right, right, 0)]


@pytest.mark.parametrize(
    ("family", "translation", "hiding", "left", "right"),
    [
        (V4, None, False, ("198.18.1.0", "198.18.255.254", 0), ("198.19.1.0", "198.19.255.254", 0)),
        (V4, None, True, ("10.0.1.0", "10.0.255.254", 0), ("198.19.1.0", "198.19.255.254", 0)),
        (V6, None, True, ("fd00:2:0:1::2", "fd00:2:0:1::ffff:2", 16), RIGHT_V6),
        (V6, None, False, ("2001:2:0:1::2", "2001:2:0:1::ffff:2", 16), RIGHT_V6),
        (V4, NAT64, False, ("2001:2:0:1::2", "2001:2:0:1::ffff:2", 16), ("198.19.1.0", "198.19.255.254", 0)),
        # Hosts that are mapped one to one vary in the bits of the mapping.
        (V4, SIIT, False, ("2001:2:0:1::100", "2001:2:0:1::fffe", 0), ("198.19.1.0", "198.19.255.254", 0)),
        (V4, NAT46, False, ("198.18.1.0", "198.18.255.254", 0), ("2001:2:0:8001::100", "2001:2:0:8001::fffe", 0)),
    ],
)  # fmt: skip
def test_multiple_hosts_vary_as_rfc_4814_asks(
    family: Family, translation: TranslationKind | None, *, hiding: bool, left: tuple[str, str, int],
    right: tuple[str, str, int],
) -> None:  # fmt: skip
    assert text(resolved(family, translation, hiding=hiding, preset="multiple")) == [left, right]


@pytest.mark.parametrize(
    ("family", "preset", "left", "route"),
    [
        (V4, "single", ("198.18.128.2", "198.18.224.2", 13), "198.18.160.0/19"),
        (V4, "multiple", ("198.18.128.0", "198.18.255.255", 0), "198.18.160.0/19"),
        (V6, "single", ("2001:2:0:1000::2", "2001:2:0:1003::2", 64), "2001:2:0:1001::/64"),
        (V6, "multiple", ("2001:2:0:1000::2", "2001:2:0:1003:ffff::2", 48), "2001:2:0:1001::/64"),
    ],
)
def test_networks_share_a_space_beside_the_link(
    family: Family, preset: str, left: tuple[str, str, int], route: str
) -> None:
    addresses = resolved(family, preset=preset, networks=4)
    assert text(addresses)[0] == left
    assert len(addresses.left.routes) == len(addresses.right.routes) == 4
    assert str(addresses.left.routes[1]) == route
    assert len(resolved(family, preset=preset, networks=2).left.routes) == 2
    assert len(resolved(family, preset=preset).left.routes) == 1


def test_what_a_plan_writes_itself_stays() -> None:
    left = {"dut": "198.18.0.1/24", "tester": "198.18.0.9/24", "behind": ["198.18.0.0/16"]}
    right = {"dut": "198.19.0.1/24", "tester": "198.19.0.9/24", "behind": ["198.19.0.0/16"]}
    own = resolved(left=left, right=right)
    assert text(own) == [("198.18.0.9", "198.18.0.9", 0), ("198.19.0.9", "198.19.0.9", 0)]
    # The preset has no hosts for links of a plan's own.
    assert text(resolved(preset="multiple", left=left)) == [
        ("198.18.0.9", "198.18.0.9", 0),
        ("198.19.1.0", "198.19.255.254", 0),
    ]
    hosts = resolved(left_hosts="198.18.7.7", right_hosts="198.19.7.7")
    assert text(hosts) == [("198.18.7.7", "198.18.7.7", 0), ("198.19.7.7", "198.19.7.7", 0)]
    beside = resolved(left=left, networks=4)
    assert text(beside)[0] == ("198.18.0.9", "198.18.0.9", 0)
    assert len(beside.right.routes) == 4


@pytest.mark.parametrize(
    ("kind", "preset", "pool", "mappings"),
    [
        (NAT64, "single", "198.19.0.1/32", []),
        (NAT64, "multiple", "198.18.0.0/24", []),
        (NAT46, "single", "2001:2:0:8000::1/128", [("198.19.0.2/32", "2001:2:0:8000::2/128")]),
        (NAT46, "multiple", "2001:2:0:8064::/120", [("198.19.0.0/16", "2001:2:0:8001::/112")]),
        (SIIT, "single", "198.19.0.1/32", [("198.18.0.2/32", "2001:2::2/128")]),
        (SIIT, "multiple", "198.18.0.0/24", [("198.18.0.0/16", "2001:2:0:1::/112")]),
    ],
)
def test_a_translation_has_a_prefix_a_pool_and_mappings(
    kind: TranslationKind, preset: str, pool: str, mappings: list[tuple[str, str]]
) -> None:
    addresses = resolved(V4, kind, preset=preset)
    found = resolve_translation(TranslationPlan(kind=kind), addresses)
    assert (found.kind, found.prefix, str(found.pool)) == (kind, PREFIX, pool)
    assert [(str(each.ipv4), str(each.ipv6)) for each in found.mappings] == mappings
    own = {"kind": kind, "prefix": "64:ff9b::/96", "pool": "203.0.113.0/24", "mappings": []}
    given = resolve_translation(TranslationPlan.model_validate(own), addresses)
    assert (str(given.prefix), str(given.pool), [*given.mappings]) == ("64:ff9b::/96", "203.0.113.0/24", [])


@pytest.mark.parametrize(
    ("flows", "source", "destination"),
    [
        (None, (1024, 65535), (1, 49151)),
        (1, (10_000, 10_000), (1000, 1000)),
        (40_000, (10_000, 49_999), (1000, 1000)),
        (40_001, (10_000, 30_000), (1000, 1001)),
        (1_000_000, (10_000, 49_999), (1000, 1024)),
        (40_000 * 70_000, (10_000, 49_999), (1000, 65535)),
    ],
)
def test_ports_hold_the_flows(flows: int | None, source: tuple[int, int], destination: tuple[int, int]) -> None:
    found = resolve_ports(PortsPlan(), flows)
    assert (found.source.min, found.source.max) == source
    assert (found.destination.min, found.destination.max) == destination
    own = PortsPlan.model_validate({"source": 7, "destination": {"min": 5, "max": 6}})
    kept = resolve_ports(own, flows)
    assert (kept.source, kept.destination) == (own.source, own.destination)


@pytest.mark.parametrize(("flows", "lowest"), [(40_000, 32_768), (40_000, 16_384), (1_000_000, 32_768), (1000, 4096)])
def test_ports_from_a_subscribers_first_one_on_hold_the_flows(flows: int, lowest: int) -> None:
    found = resolve_ports(PortsPlan(), flows, (lowest, 65535))
    assert found.size >= flows
    assert min(found.source.min, found.destination.min) >= lowest
    assert max(found.source.max, found.destination.max) <= 65_535
