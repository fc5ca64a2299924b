# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from natxy.plan.address_presets import is_safe, resolve_addresses
from natxy.plan.hosts import Addresses
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import AddressPreset
from natxy.plan.model.terms import Family
from natxy.plan.written import AddressesPlan


@pytest.mark.parametrize(
    ("written", "first", "last", "size"),
    [
        ("198.19.0.2", "198.19.0.2", "198.19.0.2", 1),
        ("198.18.0.0/16", "198.18.0.1", "198.18.255.254", 65_534),
        ("198.18.0.4/31", "198.18.0.4", "198.18.0.5", 2),
        ("198.18.0.4/32", "198.18.0.4", "198.18.0.4", 1),
        ("2001:2:0:1::/96", "2001:2:0:1::1", "2001:2:0:1::ffff:ffff", 2**32 - 1),
        ("2001:2:0:1::6/127", "2001:2:0:1::6", "2001:2:0:1::7", 2),
        ({"first": "10.0.0.2", "last": "10.31.0.2", "low_bit": 16}, "10.0.0.2", "10.31.0.2", 32),
        (["10.0.0.9", "198.19.0.7", "198.19.0.2"], "10.0.0.9", "198.19.0.2", 3),
        (["198.19.0.0/24", "10.7.0.0/24"], "198.19.0.1", "10.7.0.254", 508),
        ("198.18.0.4/30", "198.18.0.5", "198.18.0.6", 2),
        ("0.0.0.0/0", "0.0.0.1", "255.255.255.254", 2**32 - 2),
        ({"first": "2001:2::", "last": "2001:2::ffff:ffff"}, "2001:2::", "2001:2::ffff:ffff", 2**32),
    ],
)
def test_what_a_plan_may_write(written: object, first: str, last: str, size: int) -> None:
    hosts = AddressRanges.model_validate(written)
    assert (str(hosts.first), str(hosts.last), hosts.size) == (first, last, size)
    assert AddressRanges.model_validate(hosts.model_dump(mode="json")) == hosts
    assert hosts.first in hosts
    assert hosts.first_alone.size == 1


def test_single_addresses_have_no_bits_that_could_differ() -> None:
    one, other = ({"first": address, "last": address} for address in ("10.0.0.1", "10.0.0.2"))
    assert AddressRanges.model_validate([one, other | {"low_bit": 8}]).size == 2


WIDE = {"first": "2001:2::", "last": "2001:2::ffff:ffff"}


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("198.18.0.1/16", "which has bits set beyond its length"),
        ("2001:2:0:1::/64", "more than 2^32 addresses; give a prefix of /96 or longer"),
        ([], "at least 1 item"),
        (["10.0.0.1", "10.0.0.1"], "is in the list twice"),
        (["10.0.0.0/24", "10.0.0.0/25"], "must have the same values in the same bits, as prefixes of one length"),
        (["10.0.0.1", "2001:2::2"], "must be of the same family"),
        ([f"10.{i}.0.0/16" for i in range(3)] + ["10.0.0.0/16"], "is in the list twice"),
        ("2001:2:0:1::/95", "more than 2^32 addresses"),
        ({"first": "10.0.0.9", "last": "10.0.0.2"}, r"first \(10.0.0.9\) must not be above last \(10.0.0.2\)"),
        ({"first": "10.0.0.2", "last": "2001:2::2"}, "first and last must be of the same family"),
        ({"first": "10.0.0.2", "last": "10.0.1.3", "low_bit": 8}, "only in the 32 bits from bit 8 upwards"),
        ({"first": "2001:2::", "last": "2001:2::1:0:0"}, "only in the 32 bits from bit 0 upwards"),
        (
            [WIDE, WIDE | {"first": "2001:3::", "last": "2001:3::ffff:ffff"}],
            "at most 2.32 addresses, got 8,589,934,592",
        ),
        (
            [
                {"first": "10.0.0.0", "last": "10.0.0.1"},
                {"first": "10.0.1.0", "last": "10.0.1.2", "low_bit": 1},
            ],
            "must have the same values in the same bits",
        ),
        ("10.0.0.300", "expected an address, a prefix such as"),
    ],
)
def test_what_it_may_not(written: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint.replace("^", r"\^")):
        AddressRanges.model_validate(written)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("198.19.0.2", "198.19.0.2"),
        ("198.18.0.4/31", "198.18.0.4 to 198.18.0.5"),
        ({"first": "10.0.0.2", "last": "10.31.0.2", "low_bit": 16}, "10.0.0.2 to 10.31.0.2"),
    ],
)
def test_a_range_is_named_by_its_ends(written: object, text: str) -> None:
    [own] = AddressRanges.model_validate(written).ranges
    assert str(own) == text


def test_a_range_has_no_address_whose_fixed_bits_are_others() -> None:
    hosts = AddressRange(first=IPv4Address("198.0.2.2"), last=IPv4Address("198.255.254.2"), low_bit=8)
    assert IPv4Address("198.18.0.2") in hosts
    assert IPv4Address("198.18.0.1") not in hosts
    assert IPv4Address("199.0.0.2") not in hosts


def test_a_range_has_all_between_its_ends_and_lies_within_one_network() -> None:
    hosts = AddressRanges.model_validate({"first": "10.0.0.2", "last": "10.0.0.9"})
    members = [number for number in range(12) if ip_address(f"10.0.0.{number}") in hosts]
    assert members == [*range(2, 10)]
    [own] = hosts.ranges
    assert own.within([ip_network("10.0.0.0/28")])
    assert not own.within([ip_network("10.0.0.0/29")])
    assert not own.within([ip_network("10.0.0.0/29"), ip_network("10.0.0.8/29")])
    assert not own.within([])


@given(st.data())
def test_the_values_in_the_fixed_part_are_the_range(data: st.DataObject) -> None:
    kinds: list[tuple[int, type[IPv4Address | IPv6Address]]] = [(32, IPv4Address), (128, IPv6Address)]
    bits, kind = data.draw(st.sampled_from(kinds))
    low_bit = data.draw(st.integers(0, bits - 1))
    width = data.draw(st.integers(0, min(32, bits - low_bit)))
    base = data.draw(st.integers(0, 2**bits - 1)) & ~(((1 << width) - 1) << low_bit)
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, 2**width - 1)] * 2)))
    own = AddressRange(first=kind(base | low << low_bit), last=kind(base | high << low_bit), low_bit=low_bit)
    first, last = own.values
    assert own.size == last - first + 1 == high - low + 1
    assert own.fixed_part | first << low_bit == int(own.first)
    assert own.fixed_part | last << low_bit == int(own.last)


def resolved(family: Family, **fields: Any) -> Addresses:
    return resolve_addresses(AddressesPlan.model_validate(fields), family, None, hiding=False)


@pytest.mark.parametrize("preset", list(AddressPreset))
@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize("networks", [2, 256, 4096])
def test_networks_have_routes_and_hosts(family: Family, preset: AddressPreset, networks: int) -> None:
    addresses = resolved(family, preset=preset, networks=networks)
    for link, hosts in ((addresses.left, addresses.left_hosts), (addresses.right, addresses.right_hosts)):
        assert len(link.routes) == networks
        assert not any(route.overlaps(link.dut.network) for route in link.routes)
        if family == Family.IPV6:
            assert {route.prefixlen for route in link.routes} == {64}
        own = hosts.ranges[0]
        step = (int(own.last) - int(own.first)) // (networks - 1) if preset == AddressPreset.SINGLE else 0
        if preset == AddressPreset.SINGLE:
            assert hosts.size == networks
            assert all(ip_address(int(own.first) + k * step) in route for k, route in enumerate(link.routes))
        else:
            assert hosts.size >= 8 * networks
            assert own.first in link.routes[0]
            assert own.last in link.routes[-1]
        assert is_safe(hosts)


def test_the_links_routes_are_those_of_the_plan() -> None:
    right = {"dut": "198.19.0.1/24", "tester": "198.19.0.2/24", "behind": ["198.19.128.0/17", "10.1.0.0/16"]}
    assert len(resolved(Family.IPV4, right=right | {"networks": 4}).right.routes) == 8
    own = resolved(Family.IPV4, right=right | {"behind": ["198.19.0.0/16"], "networks": 256}).right
    assert (len(own.networks_behind), len(own.routes)) == (256, 255)
    with pytest.raises(ValidationError, match="expected a power of two such as 256, got 3"):
        resolved(Family.IPV4, right=right | {"networks": 3})
    with pytest.raises(ValidationError, match=r"10\.1\.0\.0/17 is too small for 65536 networks"):
        resolved(Family.IPV4, right=right | {"behind": ["10.1.0.0/17"], "networks": 65536})
