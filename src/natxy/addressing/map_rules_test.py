# SPDX-License-Identifier: Apache-2.0
"""Tests the addresses of MAP with the examples of RFC 7597, RFC 7599, VPP and Jool, and by the RFC's own formulas."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.addressing.map_rules import MapRule


def rule(ipv6: str, ipv4: str, ea_length: int, offset: int = 6, given_psid_length: int = 0) -> MapRule:
    return MapRule(IPv6Network(ipv6), IPv4Network(ipv4), ea_length, offset, given_psid_length)


RFC_7597 = rule("2001:db8::/40", "192.0.2.0/24", 16)
ALONE = rule("2001:db8:12:3400::/56", "192.0.2.18/32", 0)
SHARED = rule("2001:db8:12:3400::/56", "192.0.2.18/32", 0, given_psid_length=8)
VPP_MAP_E = rule("2001::/32", "192.168.0.0/16", 20, 4)
VPP_MAP_T = rule("2001:db8:f0::/48", "198.18.0.0/24", 12)
JOOL_LONG = rule("2001:db8:4464:1::/64", "192.0.2.0/28", 8)
JOOL_TUTORIAL = rule("2001:db8:ce::/51", "192.0.2.0/24", 13, 0)


# In order: RFC 7597 Appendix A, Example 1 (RFC 7599 has the same), Examples 4 and 5 (with erratum 5324 of RFC 7599);
# VPP's test_map.py and test_map_br.py; Jool's test suite ("ht") and its tutorial.
@pytest.mark.parametrize(
    ("own", "ipv4", "port", "psid", "prefix", "address"),
    [
        (RFC_7597, "192.0.2.18", 1232, 0x34, "2001:db8:12:3400::/56", "2001:db8:12:3400:0:c000:212:34"),
        (ALONE, "192.0.2.18", 80, 0, "2001:db8:12:3400::/56", "2001:db8:12:3400:0:c000:212:0"),
        (SHARED, "192.0.2.18", 1232, 0x34, "2001:db8:12:3400::/56", "2001:db8:12:3400:0:c000:212:34"),
        (VPP_MAP_E, "192.168.1.1", 10_000, 7, "2001:0:101:7000::/52", "2001:0:101:7000:0:c0a8:101:7"),
        (VPP_MAP_T, "198.18.0.12", 16_606, 3, "2001:db8:f0:c30::/60", "2001:db8:f0:c30:0:c612:c:3"),
        (JOOL_LONG, "192.0.2.1", 1088, 1, "2001:db8:4464:1:1100::/72", "2001:db8:4464:1:1100:c000:201:1"),
        (JOOL_LONG, "192.0.2.1", 1152, 2, "2001:db8:4464:1:1200::/72", "2001:db8:4464:1:1200:c000:201:2"),
        (JOOL_TUTORIAL, "192.0.2.8", 55_296, 27, "2001:db8:ce:11b::/64", "2001:db8:ce:11b:0:c000:208:1b"),
        (JOOL_TUTORIAL, "192.0.2.59", 40_960, 20, "2001:db8:ce:774::/64", "2001:db8:ce:774:0:c000:23b:14"),
    ],
)
def test_published_subscribers(own: MapRule, ipv4: str, port: int, psid: int, prefix: str, address: str) -> None:
    found = own.subscriber_of(IPv4Address(ipv4), port)
    assert (found.ports.psid, found.prefix, found.address) == (psid, IPv6Network(prefix), IPv6Address(address))
    assert (found.ipv4, own.subscriber(found.number)) == (IPv4Address(ipv4), found)


def test_published_ports() -> None:
    ranges = RFC_7597.subscriber_of(IPv4Address("192.0.2.18"), 1232).ports.ranges
    assert (len(ranges), sum(map(len, ranges))) == (63, 252)
    assert ranges[:2] + ranges[-2:] == [
        range(1232, 1236), range(2256, 2260), range(63_696, 63_700), range(64_720, 64_724),
    ]  # fmt: skip
    ranges = VPP_MAP_E.subscriber_of(IPv4Address("192.168.1.1"), 10_000).ports.ranges
    assert (len(ranges), ranges[0]) == (15, range(5888, 6144))
    ranges = VPP_MAP_T.subscriber_of(IPv4Address("198.18.0.12"), 16_606).ports.ranges
    assert (len(ranges), ranges[0]) == (63, range(1216, 1280))
    ranges = JOOL_LONG.subscriber_of(IPv4Address("192.0.2.1"), 1088).ports.ranges
    assert ranges[:2] == [range(1088, 1152), range(2112, 2176)]
    assert JOOL_TUTORIAL.subscriber_of(IPv4Address("192.0.2.8"), 55_296).ports.ranges == [range(55_296, 57_344)]


# Jool's test suite: "eq", "lt" and "iid".
@pytest.mark.parametrize(
    ("own", "prefix"),
    [
        (rule("2001:db8:4464:1::/64", "192.0.2.0/24", 8), "2001:db8:4464:1:100::/72"),
        (rule("2001:db8:4464:1::/64", "192.0.2.0/28", 1), "2001:db8:4464:1:8000::/65"),
        (rule("2001:db8:4464:1::/112", "192.0.2.0/24", 16), "2001:db8:4464:1::1/128"),
    ],
)
def test_the_end_user_prefix_has_the_ea_bits_wherever_they_fall(own: MapRule, prefix: str) -> None:
    assert own.subscriber(1).prefix == IPv6Network(prefix)


def test_a_subscriber_may_have_a_prefix() -> None:
    own = rule("2001:db8::/32", "192.0.2.0/24", 4)
    found = own.subscriber_of(IPv4Address("192.0.2.37"), 80)
    assert (found.number, found.ipv4, found.ports.ranges) == (2, IPv4Address("192.0.2.32"), [range(65_536)])
    assert found.address == IPv6Address("2001:db8:2000:0:0:c000:220:0")


def test_ports_that_nobody_has_have_no_subscriber() -> None:
    with pytest.raises(ValueError, match="no subscriber has port 80 with an offset of 6"):
        RFC_7597.subscriber_of(IPv4Address("192.0.2.18"), 80)
    with pytest.raises(ValueError, match="is not in"):
        RFC_7597.subscriber_of(IPv4Address("192.0.3.18"), 1232)


@given(st.data())
def test_addresses_lead_back_to_their_subscribers(data: st.DataObject) -> None:
    length = data.draw(st.integers(8, 32))
    offset = data.draw(st.integers(0, 8))
    suffix = 32 - length
    ea_length = data.draw(st.integers(0, min(48, suffix + 16 - offset)))
    ipv4 = IPv4Network((data.draw(st.integers(0, (1 << length) - 1)) << suffix, length))
    prefix_length = data.draw(st.integers(16, 128 - ea_length))
    ipv6 = IPv6Network((data.draw(st.integers(0, (1 << prefix_length) - 1)) << (128 - prefix_length), prefix_length))
    own = MapRule(ipv6, ipv4, ea_length, offset)
    found = own.subscriber(data.draw(st.integers(0, own.subscriber_count - 1)))
    assert found.prefix.subnet_of(ipv6)
    assert found.address in found.prefix
    assert found.ipv4 in ipv4
    ports = data.draw(st.sampled_from(found.ports.ranges))
    assert own.subscriber_of(found.ipv4, data.draw(st.sampled_from(ports))) == found
    # The bits of the address, by the figures of RFC 7597 §3 and §6.
    bits = f"{int(found.address):0128b}"
    ea_bits = f"{found.number:0{ea_length}b}" if ea_length else ""
    assert bits.startswith(f"{int(ipv6.network_address):0128b}"[:prefix_length] + ea_bits)
    identifier = "0" * 16 + f"{int(found.ipv4):032b}" + f"{found.ports.psid:016b}"
    end = max(64, prefix_length + ea_length)
    assert bits[end:] == identifier[end - 64 :]
    assert set(bits[prefix_length + ea_length : 64]) <= {"0"}


@pytest.mark.parametrize(
    ("ipv6", "ipv4", "ea_length", "offset", "given", "why"),
    [
        ("2001:db8::/96", "192.0.2.0/24", 40, 6, 0, "longer than an address"),
        ("2001:db8::/40", "192.0.2.0/24", 49, 6, 0, "0 to 48 EA bits"),
        ("2001:db8::/40", "192.0.2.0/24", 19, 6, 0, "at most 16 bits together, got 6 and 11"),
        ("2001:db8::/40", "192.0.2.0/24", 16, 6, 8, "cannot be given as 8"),
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(
    ipv6: str, ipv4: str, ea_length: int, offset: int, given: int, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        rule(ipv6, ipv4, ea_length, offset, given)
