# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.addressing.embedding import (
    LENGTHS,
    embedded,
    embedded_network,
    embeds,
    extracted,
    extracted_network,
    moved_bit,
)
from natxy.plan.model.address_ranges import AddressRange

PREFIXES = {length: IPv6Network((0x20010DB8 << 96, length)) for length in LENGTHS}


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
    ],
)
def test_the_table_of_rfc_6052_section_2_4(prefix: str, expected: str) -> None:
    assert embedded(embeds(IPv6Network(prefix)), IPv4Address("192.0.2.33")) == IPv6Address(expected)


@given(length=st.sampled_from(LENGTHS), number=st.integers(0, 2**32 - 1))
def test_addresses_are_in_the_prefix_and_leave_bits_64_to_71_zero(length: int, number: int) -> None:
    address = embedded(PREFIXES[length], IPv4Address(number))
    assert address in PREFIXES[length]
    assert int(address) >> 56 & 0xFF == 0
    text = f"{int(address):0128b}"
    free = text[length:64] + text[72:] if length < 96 else text[96:]
    assert int(free[:32], 2) == number
    assert int(free[32:] or "0", 2) == 0


@given(length=st.sampled_from(LENGTHS), number=st.integers(0, 2**32 - 1))
def test_an_address_is_extracted_again(length: int, number: int) -> None:
    host = IPv4Address(number)
    assert extracted(PREFIXES[length], embedded(PREFIXES[length], host)) == host


@given(length=st.sampled_from(LENGTHS), number=st.integers(0, 2**32 - 1), bits=st.integers(0, 32))
def test_a_network_has_the_addresses_of_its_hosts(length: int, number: int, bits: int) -> None:
    network = IPv4Network((number, bits), strict=False)
    seen = embedded_network(PREFIXES[length], network)
    assert {embedded(PREFIXES[length], end) in seen for end in (network[0], network[-1])} == {True}
    if bits and (beside := int(network.network_address) ^ 1 << 32 - bits):
        assert embedded(PREFIXES[length], IPv4Address(beside)) not in seen
    assert extracted_network(PREFIXES[length], seen) == network


@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_not_behind_the_prefix_is_no_ipv4_address(length: int) -> None:
    for stranger in ("2001:db9::1", "2001:db8:ffff:ffff:ff00::"):
        with pytest.raises(ValueError, match="is no IPv4 address behind 2001:db8::"):
            extracted(PREFIXES[length], IPv6Address(stranger))


@given(
    length=st.sampled_from(LENGTHS), number=st.integers(0, 2**32 - 1), low_bit=st.integers(0, 31),
    bits=st.integers(0, 16), data=st.data(),
)  # fmt: skip
def test_a_range_of_hosts_is_a_range_in_ipv6(
    length: int, number: int, low_bit: int, bits: int, data: st.DataObject
) -> None:
    ones = (1 << min(bits, 32 - low_bit)) - 1 << low_bit
    first, last = number & ~ones, number | ones
    moved = moved_bit(PREFIXES[length], first ^ last, low_bit)
    if moved is None:
        assert length in {40, 48, 56}
        return
    hosts = AddressRange(first=IPv4Address(first), last=IPv4Address(last), low_bit=low_bit)
    ends = (embedded(PREFIXES[length], IPv4Address(end)) for end in (first, last))
    seen = AddressRange.model_validate({"first": next(ends), "last": next(ends), "low_bit": moved})
    assert seen.size == hosts.size
    inside = data.draw(st.integers(0, hosts.size - 1))
    expected = embedded(PREFIXES[length], IPv4Address(first + (inside << low_bit)))
    assert expected == seen.first + (inside << moved)


@pytest.mark.parametrize("prefix", ["2001:db8::/33", "2001:db8::/128", "::/0", "2001:db8:0:0:100::/96"])
def test_other_prefixes_embed_nothing(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"expected a (/32, /40, /48, /56, /64 or /96 such as|prefix whose bits)"):
        embeds(IPv6Network(prefix))
