# SPDX-License-Identifier: Apache-2.0
"""Tests the formats of tables of softwires, with tables written by hand and made at random."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.bindings.csv_table import as_csv
from natxy.plan.bindings.lines import TableError
from natxy.plan.bindings.table import read_table, read_table_file

CSV: Final = """\
# of the first street
ipv4,psid,b4

198.18.128.1, 1, fd00:2:7::11
198.18.128.1,0,fd00:2:7::10
"""
SNABB: Final = """\
softwire-config {
  instance { device "00:05.0"; queue { id 1; external-interface { ip 10.10.10.10; } } }
  external-interface { mtu 1460; }  // no softwires here
  binding-table {
    /* two homes
       of one street */
    softwire {
      ipv4 198.18.128.1; psid 1; padding 0;
      b4-ipv6 fd00:2:7::11; br-address fd00:2:5::1;
      port-set { psid-length 6; reserved-ports-bit-count 4; }
    }
    softwire { port-set { reserved-ports-bit-count 4; psid-length 6; } psid 0;
      ipv4 198.18.128.1; b4-ipv6 "fd00:2:7::10"; br-address fd00:2:5::1; }
  }
}
"""
VPP: Final = """\
set interface state host-left up
map add domain ip4-pfx 198.18.128.2/32 ip6-pfx ::/0 ip6-src fd00:2:5::1 ea-bits-len 0 psid-offset 4 psid-len 6 tag x
map add domain ip4-pfx 198.18.128.1/32 ip6-pfx ::/0 ip6-src fd00:2:5::1/128 psid-offset 4 psid-len 6 mtu 1500
map add rule index 1 psid 1 ip6-dst fd00:2:7::11
vppctl map add rule index 1 psid 0 ip6-dst fd00:2:7::10
"""
ENDS: Final = {
    (IPv4Address("198.18.128.1"), 1): IPv6Address("fd00:2:7::11"),
    (IPv4Address("198.18.128.1"), 0): IPv6Address("fd00:2:7::10"),
}


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        (CSV, (None, None, None)),
        (SNABB, (6, 4, IPv6Address("fd00:2:5::1"))),
        (VPP, (6, 4, IPv6Address("fd00:2:5::1"))),
    ],
)
def test_each_format_says_the_same(text: str, constant: tuple[object, ...]) -> None:
    found = read_table(text)
    assert found.ends == ENDS
    assert (found.psid_length, found.offset, found.core) == constant


def test_snabb_reserves_no_ports_unless_told() -> None:
    found = read_table("softwire { ipv4 10.1.2.3; b4-ipv6 fd00::1; port-set { psid-length 0; } }")
    assert (found.psid_length, found.offset, found.core) == (0, 0, None)
    assert found.ends == {(IPv4Address("10.1.2.3"), 0): IPv6Address("fd00::1")}


def test_a_domain_of_vpp_without_rules_has_one_softwire() -> None:
    found = read_table("map add domain ip4-pfx 10.1.2.3/32 ip6-pfx fd00::1/128 ip6-src fd00::2")
    assert found.ends == {(IPv4Address("10.1.2.3"), 0): IPv6Address("fd00::1")}
    assert (found.psid_length, found.offset, found.core) == (0, 0, IPv6Address("fd00::2"))


ONE: Final = "softwire {{ ipv4 {0}; psid {1}; b4-ipv6 fd00::1; br-address {2}; port-set {{ psid-length {3}; {4} }} }}\n"
DOMAIN: Final = "map add domain ip4-pfx 10.0.0.1/32 ip6-pfx ::/0 ip6-src fd00::2 psid-len 4\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected softwires: lines of ipv4,psid,b4"),
        ("ipv4,psid,b4\n", "expected softwires"),
        ("b4,psid,ipv4\n", "line 1: header: expected ipv4,psid,b4, got 'b4,psid,ipv4'"),
        ("ipv4,psid,b4\n10.0.0.1,0\n", "line 2: b4: expected 3 values, ipv4,psid,b4, got 2"),
        ("ipv4,psid,b4\n10.0.0.1,0,fd00::1,9\n", "line 2: b4: expected 3 values, ipv4,psid,b4, got 4"),
        ("ipv4,psid,b4\n10.0.0.256,0,fd00::1\n", "line 2: ipv4: expected an IPv4 address, got '10.0.0.256'"),
        ("ipv4,psid,b4\n10.0.0.1,-1,fd00::1\n", "line 2: psid: expected a number from 0 to 65535, got '-1'"),
        ("ipv4,psid,b4\n10.0.0.1,65536,fd00::1\n", "line 2: psid: expected a number from 0 to 65535, got '65536'"),
        ("ipv4,psid,b4\n10.0.0.1,0,10.0.0.2\n", "line 2: b4: expected an IPv6 address, got '10.0.0.2'"),
        (f"{CSV}198.18.128.1,1,fd00::2\n", "line 6: psid: 198.18.128.1 has a softwire of PSID 1 in line 4 already"),
        (ONE.format("x", 0, "fd00::2", 4, ""), "line 1: ipv4: expected an IPv4 address, got 'x'"),
        (ONE.format("10.0.0.1", 16, "fd00::2", 4, ""), "line 1: psid: expected a number from 0 to 15, got '16'"),
        (
            ONE.format("10.0.0.1", 0, "fd00::2", 4, "reserved-ports-bit-count 13;"),
            "line 1: reserved-ports-bit-count: expected at most 12 beside a PSID of 4 bits, got 13",
        ),
        (ONE.format("10.0.0.1", 0, "fd00::2", 4, "shift 11;"), "line 1: shift: expected 12, what the other fields"),
        (ONE.format("10.0.0.1", 0, "fd00::2", 4, "size 11;"), "line 1: size: unknown field of a port-set; expected"),
        (ONE.format("10.0.0.1", 0, "fd00::2", "4 5", ""), "line 1: psid-length: expected one value and a semicolon"),
        (ONE.format("10.0.0.1", 0, "fd00::2; psid 1", 4, ""), "line 1: psid: is in line 1 already"),
        (
            ONE.format("10.0.0.1", 0, "fd00::2", 4, "") + ONE.format("10.0.0.1", 1, "fd00::3", 4, ""),
            "line 2: br-address: expected fd00::2 as in the lines before, got fd00::3",
        ),
        (
            ONE.format("10.0.0.1", 0, "fd00::2", 4, "") + ONE.format("10.0.0.2", 1, "fd00::2", 5, ""),
            "line 2: psid-length: expected 4 as in the lines before, got 5",
        ),
        ("softwire { ipv4 10.0.0.1;\n}", "line 1: b4-ipv6: missing in the softwire that begins here"),
        ("softwire { ipv4 10.0.0.1;\n", "line 1: softwire: expected a } that ends what begins in line 1"),
        ("softwire {}}", "line 1: ipv4: missing in the softwire"),
        ("a { softwire { }", "line 1: ipv4: missing"),
        (f"{DOMAIN}map add rule index 1 psid 0 ip6-dst fd00::1", "line 2: index: expected one of the 1 domains before"),
        (f"{DOMAIN}map add rule index 0 psid 16 ip6-dst fd00::1", "line 2: psid: expected a number from 0 to 15"),
        (f"{DOMAIN}map add rule index 0 psid 1", "line 2: ip6-dst: missing"),
        (f"{DOMAIN}map add rule index 0 psid 1 ip6-dst", "line 2: ip6-dst: expected a value after it"),
        (f"{DOMAIN}map add rule index 0 psid 1 to fd00::1", "line 2: to: unknown field; expected one of index, psid"),
        (DOMAIN.replace("/32", "/24"), "line 1: ip4-pfx: expected a prefix of 32 bits"),
        (DOMAIN.replace("psid-len 4", "map-t"), "line 1: map-t: expected a domain of encapsulation"),
        (DOMAIN.replace("psid-len 4", "ea-bits-len 4"), "line 1: ea-bits-len: expected 0, as lw4o6 has it"),
        (DOMAIN.replace("fd00::2", "fd00::/64"), "line 1: ip6-src: expected an address or a prefix of 128 bits"),
        (DOMAIN, "expected softwires"),
    ],
)  # fmt: skip
def test_an_error_names_the_line_and_the_field(text: str, told: str) -> None:
    with pytest.raises(TableError) as error:
        read_table(text)
    assert str(error.value).startswith(told)


def test_a_table_has_at_most_as_many_softwires_as_the_tester_looks_up() -> None:
    lines = "".join(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255},0,fd00::1\n" for i in range(65_537))
    with pytest.raises(TableError, match="line 65538: psid: expected at most 65,536 softwires; split the table"):
        read_table(f"ipv4,psid,b4\n{lines}")


def test_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "street.csv"
    with pytest.raises(TableError, match=r"street\.csv cannot be read: No such file"):
        read_table_file(file)
    file.write_bytes(b"\xff")
    with pytest.raises(TableError, match=r"street\.csv cannot be read: it is not UTF-8 text"):
        read_table_file(file)
    file.write_text("ipv4,psid,b4\n10.0.0.1,x,fd00::1\n")
    with pytest.raises(TableError, match=r"street\.csv, line 2: psid: expected a number from 0 to 65535, got 'x'"):
        read_table_file(file)
    file.write_text(SNABB)
    assert read_table_file(file).ends == ENDS


Ends = dict[tuple[IPv4Address, int], IPv6Address]
ENDS_OF_ANY: Final = st.dictionaries(
    st.tuples(st.ip_addresses(v=4), st.integers(0, 15)), st.ip_addresses(v=6), min_size=1, max_size=20
)


@given(ENDS_OF_ANY)
def test_all_formats_are_read_back(ends: Ends) -> None:
    snabb = "".join(
        f"softwire {{ ipv4 {ipv4}; psid {psid}; b4-ipv6 {end}; port-set {{ psid-length 4; }} }}\n"
        for (ipv4, psid), end in ends.items()
    )
    addresses = [*dict.fromkeys(ipv4 for ipv4, _ in ends)]
    vpp = [f"map add domain ip4-pfx {each}/32 ip6-pfx ::/0 ip6-src fd00::2 psid-len 4" for each in addresses]
    vpp += [
        f"map add rule index {addresses.index(ipv4)} psid {psid} ip6-dst {end}" for (ipv4, psid), end in ends.items()
    ]
    for text in (as_csv(ends), snabb, "\n".join(vpp)):
        found = read_table(text).ends
        assert (found, [*found]) == (ends, [*ends])


@given(st.text(alphabet='softwire{};psid \n/*"map add rule domain 0.:1,b4', max_size=200))
def test_any_text_is_a_table_or_an_error(text: str) -> None:
    for begins in ("", "softwire {", "map add domain ", "ipv4,psid,b4\n"):
        try:
            assert read_table(begins + text).ends
        except TableError:
            continue
