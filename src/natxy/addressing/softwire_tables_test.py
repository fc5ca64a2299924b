# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.addressing.softwire_tables import Homes, SoftwireTable

FIRST: Final = int(IPv4Address("198.18.128.0"))

Ends = dict[tuple[IPv4Address, int], IPv6Address]


def ends_of(addresses: list[int], psids: range) -> Ends:
    """Returns ends that follow no rule, in a random order."""
    chosen = random.Random(len(addresses))
    keys = [(IPv4Address(FIRST + address), psid) for address in addresses for psid in psids]
    chosen.shuffle(keys)
    return {key: IPv6Address(0xFD << 120 | chosen.getrandbits(64)) for key in keys}


@given(
    st.sets(st.integers(0, 255), min_size=1, max_size=12),
    st.integers(0, 4).flatmap(lambda length: st.tuples(st.just(length), st.integers(0, (1 << length) - 1))),
)
def test_a_number_leads_to_the_end_of_its_address_and_psid(addresses: set[int], psids: tuple[int, int]) -> None:
    length, first = psids
    ends = ends_of([*addresses], range(first, 1 << length))
    table = SoftwireTable.of(ends, length, 0)
    assert table.subscriber_count == len(ends)
    everybody = [table.subscriber(number) for number in range(table.subscriber_count)]
    assert {(each.ipv4, each.ports.psid): each.address for each in everybody} == ends
    assert [(each.ipv4, each.ports.psid) for each in everybody] == sorted(ends)
    # The engine finds an end by the last bits of the address, and the PSID.
    mask = (1 << table.address_bits) - 1
    found = {key: table.numbered[(int(key[0]) & mask) << length | key[1]] for key in ends}
    assert found == ends
    assert len(table.numbered) == 1 << table.address_bits + length
    assert table.numbered.count(IPv6Address(0)) == len(table.numbered) - len(ends)
    assert all(end in table.ipv6 for end in ends.values())
    assert all(address in table.ipv4 for address, _ in ends)


def test_addresses_need_no_more_bits_than_tell_them_apart() -> None:
    assert SoftwireTable.of(ends_of([0], range(1)), 0, 0).address_bits == 0
    # They follow one another, but no prefix has them alone.
    assert SoftwireTable.of(ends_of([3, 4, 5, 6], range(1)), 0, 0).address_bits == 2
    assert SoftwireTable.of(ends_of([3, 4, 11, 40], range(1)), 0, 0).address_bits == 4


@pytest.mark.parametrize(
    ("psids", "length", "offset", "limits"),
    [
        (range(1), 0, 6, (1, 65535)),
        (range(64), 6, 0, (1, 65535)),
        # As tables are that leave out the first 1,024 ports.
        (range(1, 64), 6, 0, (1024, 65535)),
        (range(8, 16), 4, 0, (32768, 65535)),
        (range(2, 4), 4, 0, (8192, 16383)),
        (range(16), 4, 4, (4096, 65535)),
    ],
)
def test_ports_are_those_of_the_first_and_the_last_psid(
    psids: range, length: int, offset: int, limits: tuple[int, int]
) -> None:
    table = SoftwireTable.of(ends_of([0, 1], psids), length, offset)
    assert table.port_limits == limits
    assert table.subscriber(0).ports.psid == psids[0]


@pytest.mark.parametrize(
    ("ends", "length", "offset", "told"),
    [
        (
            {**ends_of([0], range(4)), **ends_of([1], range(3))},
            2,
            0,
            r"198\.18\.128\.1 has no softwire of PSID 3; the tester plays tables in which each address has the same",
        ),
        ({**ends_of([0], range(2)), **ends_of([0], range(3, 4))}, 2, 0, r"198\.18\.128\.0 has no softwire of PSID 2"),
        (ends_of([0], range(1, 4)), 2, 6, "each address has 3 of 4 PSIDs of 2 bits; with an offset of 6 the ports of"),
        (ends_of([0, 1 << 14], range(8)), 3, 0, "so far apart that they and their PSIDs need 262,144 numbers"),
    ],
)
def test_a_table_that_the_tester_cannot_play_is_refused(ends: Ends, length: int, offset: int, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        SoftwireTable.of(ends, length, offset)


@pytest.mark.parametrize("count", [1, 2, 1000, 1 << 16])
def test_homes_have_ends_of_their_own(count: int) -> None:
    homes = Homes.of(IPv6Network("fd00:2:6::/48"), IPv4Address("192.168.1.2"), count)
    first, last = homes.numbers
    assert int(last) - int(first) + 1 == homes.subscriber_count == count
    ends = {homes.subscriber(number).address for number in range(0, count, max(1, count // 1000))}
    assert len(ends) == len(range(0, count, max(1, count // 1000)))
    assert all(end in homes.ipv6 for end in ends)
    # Each end has the number, by which the tester tells a home that a frame comes back to.
    assert all(int(end) >> 16 & 0xFFFF_FFFF in range(int(first), int(last) + 1) for end in ends)
