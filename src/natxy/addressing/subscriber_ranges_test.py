# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.addressing.subscriber_ranges import SubscriberRange, changed

FIRST, LAST = IPv4Address("198.18.128.16"), IPv4Address("198.18.128.31")


def rule(ea_length: int) -> MapRule:
    return MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/24"), ea_length, 0)


def table(psids: range) -> SoftwireTable:
    """Returns the softwires of 40 successive addresses, which share the PSIDs of two bits."""
    addresses = [IPv4Address("198.18.128.8") + number for number in range(40)]
    ends = {(address, psid): IPv6Address(int(address) << 8 | psid) for address in addresses for psid in psids}
    return SoftwireTable.of(ends, psid_length=2, offset=0)


@pytest.mark.parametrize(
    ("several", "numbers"),
    [
        (rule(8), range(16, 32)),
        (rule(10), range(64, 128)),
        (table(range(4)), range(32, 96)),
        (table(range(1, 3)), range(16, 48)),
    ],
)
def test_subscribers_with_successive_addresses(several: MapRule | SoftwireTable, numbers: range) -> None:
    found = SubscriberRange.of(several, FIRST, LAST)
    assert (found.numbers, len(found), found.addresses) == (numbers, len(numbers), (FIRST, LAST))
    assert [each.number for each in found] == [*numbers]
    assert {each.ipv4 for each in found} == {FIRST + further for further in range(16)}


@pytest.mark.parametrize("several", [rule(8), table(range(4))])
def test_nobody_has_an_address_outside(several: MapRule | SoftwireTable) -> None:
    with pytest.raises(ValueError, match=r"198\.18\.129\.0"):
        SubscriberRange.of(several, FIRST, IPv4Address("198.18.129.0"))


def test_only_what_differs_is_changed() -> None:
    one, two, three = (SubscriberRange(rule(8), range(number, number + 1)) for number in range(3))
    assert changed([one, two], [two, three]) == ([three], [one])
    assert changed([one], [one]) == ([], [])
