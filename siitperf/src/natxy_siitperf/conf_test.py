# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import re
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy_siitperf.conf import ConfError, Remark, parse_conf, read_conf
from natxy_siitperf.keys import KEYS
from natxy_siitperf.rules import check
from tests.support.siitperf_confs import CONFS, conf_text


def test_values_comments_and_defaults() -> None:
    conf = parse_conf("# a comment\n\n  IP-L-Vers\t4 # of the left\nIPv4-L-Real 198.18.0.2#\nCPU-L-Send2\nForward 7\n")
    assert conf.number("IP-L-Vers") == 4
    assert conf.address("IPv4-L-Real") == IPv4Address("198.18.0.2")
    assert (conf.number("CPU-L-Send"), conf.flag("Forward"), conf.number("Fwd-dport-max")) == (2, True, 49_151)
    assert conf.lines == {"IP-L-Vers": 3, "IPv4-L-Real": 4, "CPU-L-Send": 5, "Forward": 6}
    assert not conf.remarks


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_long_comments(end: str) -> None:
    conf = parse_conf(end.join(["", f"# {'long ' * 60}", "MAC-L-DUT A0:36:9f:74:73:6", "IPv6-L-Real 2001:2::2", ""]))
    assert conf.mac("MAC-L-DUT") == "a0:36:9f:74:73:06"
    assert str(conf.address("IPv6-L-Real")) == "2001:2::2"


def test_the_last_of_several_lines_counts() -> None:
    conf = parse_conf("Num-L-Nets 5\nNum-L-Nets 7\nIPv4-L-Real 198.18.0.2\nIPv4-L-Real 0.0.0.0\n")
    assert conf.number("Num-L-Nets") == 7
    assert not conf.has("IPv4-L-Real")


@pytest.mark.parametrize(("text", "number"), [("0x10", 16), ("16", 16), ("020", 16), ("0", 0), ("0xffff", 65_535)])
def test_numbers_of_varying_bits(text: str, number: int) -> None:
    assert parse_conf(f"IP-L-min {text}\n").number("IP-L-min") == number


def test_names_and_values_of_old_versions() -> None:
    conf = parse_conf("Responder-ports 2\nEnumerate-ports 4\n")
    assert (conf.number("Responder-tuples"), conf.number("Enumerate-ports")) == (2, 3)
    assert conf.remarks == (Remark(2, "Enumerate-ports: 4 is what versions of 2021 had for 3", harmless=True),)


@pytest.mark.parametrize(
    "line", ["Forward 7 and more", "IPv4-L-Real 198.18.0.2 and more", "MAC-L-DUT a0:36:9f:74:73:64\tand more"]
)
def test_text_after_a_value_is_remarked_upon_and_harmless(line: str) -> None:
    (remark,) = parse_conf(f"{line} # a comment\n").remarks
    assert (remark.line, remark.harmless) == (1, True)
    assert "siitperf ignores 'and more' after the value" in remark.text


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("Fwd-sports-min 5", "'Fwd-sports-min 5' has no key of siitperf; did you mean 'Fwd-sport-min'?"),
        ("ip-l-vers 4", "'ip-l-vers 4' has no key of siitperf"),
        ("IP-L-Vers 5", "IP-L-Vers: expected 4 or 6, got 5"),
        ("IPv4-L-Real = 198.18.0.2", "IPv4-L-Real: expected an IPv4 address such as 198.18.0.2, got '='"),
        ("IPv4-L-Real 2001:2::2", "IPv4-L-Real: expected an IPv4 address"),
        ("IPv6-R-Virt 198.19.0.2", "IPv6-R-Virt: expected an IPv6 address"),
        ("IPv6-R-Virt fe80::1%eth0", "IPv6-R-Virt: expected an IPv6 address"),
        ("IPv6-R-Virt", "IPv6-R-Virt: expected an IPv6 address such as 2001:2::2, got ''"),
        ("MAC-L-DUT a0:36:9f:74:73", "MAC-L-DUT: expected a MAC address"),
        ("Num-R-Nets 257", "Num-R-Nets: expected a number of networks from 1 to 256, got 257"),
        ("Num-R-Nets 0", "Num-R-Nets: expected"),
        ("Fwd-sport-min 65536", "Fwd-sport-min: expected a port from 0 to 65535, got 65536"),
        ("Fwd-sport-min -1", "Fwd-sport-min: expected a port"),
        ("Fwd-var-dport 4", "Fwd-var-dport: expected 0 (fixed) to 3 (random), got 4"),
        ("IP-L-min", "IP-L-min: expected a number from 0 to 65535, or 0x0 to 0xffff, got ''"),
        ("IP-L-max ff", "IP-L-max: expected a number"),
        ("IP-L-max 09", "IP-L-max: expected a number from 0 to 65535, or 0x0 to 0xffff, got '09', which is not octal"),
        ("IP-L-max 0x10000", "IP-L-max: expected"),
        ("IPv4-L-offset 3", "IPv4-L-offset: expected 1 or 2, the first of the two bytes that vary, got 3"),
        ("IPv6-L-offset 5", "IPv6-L-offset: expected 6 to 14"),
        ("MEM-Channels 256", "MEM-Channels: expected a number from 1 to 255, got 256"),
        ("Stateful 3", "Stateful: expected 0 (no), 1 (the left is the initiator) or 2 (the right is), got 3"),
        ("CPU-L-Send -2", "CPU-L-Send: expected the number of a core, got -2"),
    ],
)  # fmt: skip
def test_errors_name_line_key_and_expectation(line: str, error: str) -> None:
    with pytest.raises(ConfError) as caught:
        parse_conf(f"\n{line}\n", "the.conf")
    assert str(caught.value).startswith(f"the.conf, line 2: {error}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "value", "remark"),
    [
        ("IP-L-Vers = 4", 6, "no number follows, so siitperf keeps 6"),
        ("IP-L-Vers: 4", 6, "no number follows"),
        ("IP-L-Vers", 6, "no number follows"),
        ("xxIP-L-Vers 4", 4, "siitperf skips 'xx' before IP-L-Vers"),
        ("IP-L-Vers 4x", 4, "siitperf reads 4 and ignores 'x' after it"),
    ],
)
def test_surprises_are_read_as_siitperf_reads_them_and_remarked_upon(line: str, value: int, remark: str) -> None:
    conf = parse_conf(f"{line}\n")
    assert conf.number("IP-L-Vers") == value
    assert [each.line for each in conf.remarks] == [1]
    assert remark in conf.remarks[0].text
    assert not conf.remarks[0].harmless


# What siitperf's documentation allows, and natxy for cores; the keys of both sides, directions and ports.
_BOUNDS = {
    r"Num-.-Nets": (1, 256),
    r"CPU-.-(Send|Recv)": (0, 1023),
    r"MEM-Channels": (1, 255),
    r"(Fwd|Rev)-var-.port": (0, 3),
    r"(Fwd|Rev)-.port-(min|max)": (0, 65_535),
    r"IP-.-var": (0, 3),
    r"IP-.-(min|max)": (0, 65_535),
    r"IPv4-.-offset": (1, 2),
    r"IPv6-.-offset": (6, 14),
    r"Stateful": (0, 2),
    r"Enumerate-ips": (0, 3),
    r"Responder-tuples": (0, 3),
}


@pytest.mark.parametrize("pattern", _BOUNDS)
def test_numbers_have_their_bounds(pattern: str) -> None:
    least, most = _BOUNDS[pattern]
    keys = [key for key in KEYS if re.fullmatch(pattern, key)]
    assert keys
    for key in keys:
        for number in (least, most):
            assert parse_conf(f"{key} {number}\n").number(key) == number
        for number in (least - 1, most + 1):
            with pytest.raises(ConfError, match=f"line 1: {key}: expected .*, got {number}$"):
                parse_conf(f"{key} {number}\n")


def test_octal_is_remarked_upon() -> None:
    assert "octal, which is 8" in parse_conf("IP-L-min 010\n").remarks[0].text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfError, match=r"siitperf\.conf cannot be read: No such file .* from the current directory"):
        read_conf(tmp_path / "siitperf.conf")
    (tmp_path / "long").write_bytes(b"#" * (2 << 20))
    with pytest.raises(ConfError, match="longer than 1 MiB"):
        read_conf(tmp_path / "long")
    (tmp_path / "latin").write_bytes("# Größe\nStateful 1\n".encode("latin-1"))
    assert read_conf(tmp_path / "latin").number("Stateful") == 1


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfError):
        assert {*parse_conf(text).values} <= {*KEYS}


@given(st.permutations(list(CONFS["nat64-many"].items())))
def test_the_order_of_keys_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    conf = parse_conf("".join(f"{key} {value}\n" for key, value in pairs))
    assert conf.values == parse_conf(conf_text("nat64-many")).values
    assert (conf.number("IPv6-L-offset"), conf.number("IP-R-max"), conf.number("Stateful")) == (12, 1001, 1)


@pytest.mark.parametrize("name", CONFS)
def test_documented_configurations_are_accepted(name: str) -> None:
    check(parse_conf(conf_text(name)))


@pytest.mark.parametrize(
    ("name", "changed", "error"),
    [
        ("siit", {"Forward": "0", "Reverse": "0"}, "Forward and Reverse are both 0"),
        ("siit", {"CPU_L_Send": None}, "CPU-L-Send is missing; Forward needs it"),
        ("siit", {"CPU_L_Recv": None}, "CPU-L-Recv is missing; Reverse needs it"),
        ("siit", {"IPv6_R_Virt": None}, "IPv6-R-Virt is missing; frames of Forward need it"),
        ("siit", {"IPv4_R_Real": None}, "IPv4-R-Real is missing; frames of Reverse need it"),
        ("siit", {"Fwd_sport_min": "10", "Fwd_sport_max": "9"}, "Fwd-sport-min is 10 and Fwd-sport-max 9"),
        ("siit", {"Enumerate_ports": "1"}, "only phase 1 enumerates"),
        ("nat64", {"IP_R_Vers": "6"}, "the responder must be IPv4"),
        ("nat64", {"Num_R_Nets": "2"}, "Num-R-Nets must be 1"),
        ("nat64", {"Enumerate_ports": None, "Enumerate_ips": "3"}, "the ports of Forward vary; set"),
        ("nat64-many", {"Rev_var_dport": "1"}, "the ports of Reverse vary; set Enumerate-ports too"),
        ("nat64-many", {"Enumerate_ports": "1"}, "expected the same as Enumerate-ports, 1, or 0"),
        ("nat64-many", {"Enumerate_ips": "0", "Enumerate_ports": "1"}, "IP-L-var varies addresses"),
        ("nat64-many", {"IP_R_var": "0"}, "expected IP-L-var and IP-R-var from 1 to 3"),
        ("router-many", {"Num_L_Nets": "2"}, "addresses cannot vary while Num-L-Nets is above 1"),
        ("router-many", {"IP_L_min": None}, "IP-L-min is missing; IP-L-var needs it"),
        ("router-many", {"IPv4_R_offset": None}, "IPv4-R-offset is missing; IP-R-var needs it for frames of"),
        ("nat64-many", {"IPv6_R_offset": None}, "IPv6-R-offset is missing; IP-R-var needs it for frames of Forward"),
        ("router-many", {"IP_L_max": "1"}, "it is below IP-L-min"),
    ],
)  # fmt: skip
def test_keys_that_contradict_each_other(name: str, changed: dict[str, str | None], error: str) -> None:
    with pytest.raises(ConfError) as caught:
        check(parse_conf(conf_text(name, **changed)))
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("name", "changed", "is_read"),
    [
        ("siit", {"Fwd_sport_max": "9"}, True),
        ("siit", {"Fwd_sport_max": "9", "Fwd_var_sport": "0"}, False),
        ("siit", {"Rev_dport_max": "0", "Reverse": "0"}, False),
        ("nat64", {"Fwd_sport_max": "0", "Fwd_var_sport": "0", "Fwd_var_dport": "0"}, True),
        ("nat64", {"Fwd_sport_max": "0", "Fwd_var_sport": "0", "Enumerate_ports": "0"}, False),
        ("nat64", {"Rev_sport_max": "0"}, False),
        ("nat64", {"Rev_sport_max": "0", "Rev_var_sport": "3"}, True),
        ("router-many", {"IP_L_var": "0", "IP_L_max": "0"}, False),
    ],
)  # fmt: skip
def test_the_ends_of_a_range_are_compared_where_it_is_read(name: str, changed: dict[str, str], is_read: bool) -> None:
    expected = pytest.raises(ConfError, match="exchange them") if is_read else contextlib.nullcontext()
    with expected:
        check(parse_conf(conf_text(name, **changed)))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        (
            "router-many",
            {"IPv6_L_Real": "2001:2::2", "IPv6_R_Virt": "64:ff9b::198.19.0.2", "IPv4_L_Virt": "198.18.9.9"},
        ),
        ("nat64-many", {"IPv4_R_Real": "198.19.0.2", "IPv4_R_offset": None}),
    ],
)
def test_only_addresses_of_frames_need_an_offset(name: str, changed: dict[str, str | None]) -> None:
    check(parse_conf(conf_text(name, **changed)))


def test_the_background_of_addresses_that_vary_needs_ipv6_offsets() -> None:
    real: dict[str, str | None] = {"IPv6_L_Real": "2001:2::2", "IPv6_R_Real": "2001:2:0:8000::2"}
    with pytest.raises(ConfError, match="IPv6-L-offset is missing; IP-L-var needs it for frames of Forward"):
        check(parse_conf(conf_text("router-many", **real)), background=True)
    check(parse_conf(conf_text("router-many", IPv6_L_offset="8", IPv6_R_offset="8", **real)), background=True)


def test_background_needs_ipv6_addresses() -> None:
    with pytest.raises(ConfError, match="IPv6-L-Real is missing"):
        check(parse_conf(conf_text("nat44")), background=True)
