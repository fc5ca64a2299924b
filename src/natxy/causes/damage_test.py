# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from natxy.causes.damage import damage, faults
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import ForeignSample


def frame(payload: bytes = bytes(30), *, ipv6: bool = False, tagged: bool = False, **udp: Any) -> Packet:
    network = IPv6(src="2001:2::2", dst="2001:2:0:8000::2") if ipv6 else IP(src="198.18.0.2", dst="198.19.0.2")
    # Without addresses, Scapy would ask the network for them.
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return (link / Dot1Q(vlan=7) if tagged else link) / network / UDP(sport=1000, dport=7, **udp) / Raw(payload)


def right_checksum(packet: Packet) -> int:
    return int(type(packet)(bytes(packet))[UDP].chksum)


@given(
    payload=st.binary(max_size=200), ipv6=st.booleans(), tagged=st.booleans(), wrong=st.integers(1, 0xFFFF)
)  # fmt: skip
def test_a_checksum_is_that_of_scapy(payload: bytes, ipv6: bool, tagged: bool, wrong: int) -> None:
    options = {"ipv6": ipv6, "tagged": tagged}
    expected = right_checksum(frame(payload, **options))
    [(field, text)] = faults(bytes(frame(payload, **options)))
    # Nothing is wrong but the length, of which only the tester knows what it should be.
    assert field == "length"
    if wrong != expected:
        [(field, text)] = faults(bytes(frame(payload, chksum=wrong, **options)))
        assert (field, text[:27]) == ("UDP checksum", f"0x{wrong:04x} instead of 0x{expected:04x}")


@pytest.mark.parametrize("headers", [[IPv6ExtHdrHopByHop], [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt]])
def test_extension_headers_hide_no_checksum(headers: list[type[Packet]]) -> None:
    packet: Packet = IPv6(src="2001:2::2", dst="2001:2:0:8000::2")
    for header in headers:
        packet /= header()
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    packet = Ether(bytes(link / packet / UDP(sport=1000, dport=7) / Raw(bytes(30))))
    right = packet[UDP].chksum
    packet[UDP].chksum = 0x1234
    assert dict(faults(bytes(packet))) == {"UDP checksum": f"0x1234 instead of 0x{right:04x}"}


def test_the_header_of_ipv4_has_a_checksum() -> None:
    packet = frame()
    expected = int(Ether(bytes(packet))[IP].chksum)
    packet[IP].chksum = 0x1234
    assert dict(faults(bytes(packet))) == {"IPv4 header checksum": f"0x1234 instead of 0x{expected:04x}"}


@pytest.mark.parametrize(("ipv6", "found"), [(False, "length"), (True, "UDP checksum")])
def test_a_checksum_of_zero_is_none_over_ipv4(ipv6: bool, found: str) -> None:
    assert [*dict(faults(bytes(frame(chksum=0, ipv6=ipv6))))] == [found]


def test_a_checksum_that_is_missing_in_a_softwire_was_taken_away() -> None:
    inner = frame(chksum=0)[IP]
    expected = right_checksum(frame())
    found = faults(bytes(Ether() / IPv6(nh=4) / inner))
    assert dict(found) == {"UDP checksum": f"0x0000 instead of 0x{expected:04x}"}
    assert [*dict(faults(bytes(Ether() / IPv6(nh=4) / inner), may_lack_checksum=True))] == ["length"]


def test_lengths_that_differ_are_named_with_both() -> None:
    assert dict(faults(bytes(frame(len=20)))) == {"UDP length": "20 instead of 38 bytes, as the IP header says"}
    assert dict(faults(bytes(frame()))) == {"length": "76 bytes (FCS included), another than was sent"}


def test_a_checksum_that_was_left_to_a_card_is_that_of_the_pseudo_header() -> None:
    pseudo_header = bytes([198, 18, 0, 2, 198, 19, 0, 2, 0, 17, 0, 38])
    left = 0xFFFF ^ checksum(pseudo_header)
    [(_, text)] = faults(bytes(frame(chksum=left)))
    assert text.endswith(", which is that of the pseudo-header alone: an offload left the rest to a card")


@given(st.binary(max_size=120))
def test_no_bytes_are_too_strange(strange: bytes) -> None:
    assert all(field and text for field, text in faults(strange))


def sample(packet: bytes, kind: str = "corrupt_test") -> ForeignSample:
    return ForeignSample(side=Side.LEFT, kind=kind, time_ns=0, data_base64=base64.b64encode(packet).decode())


def test_the_first_of_each_field_stands_for_the_others() -> None:
    frames = [frame(chksum=0xDEAD), frame(chksum=0xBEEF), frame(len=9)]
    expected = right_checksum(frame())
    assert damage(sample(bytes(each)) for each in frames) == (
        f"UDP checksum 0xdead instead of 0x{expected:04x} and UDP length 9 instead of 38 bytes, as the IP header says"
    )
    assert damage([sample(bytes(frame(chksum=1)), kind="udp")]) == ""
    # What was cut off may have made the checksum right.
    assert damage([sample(bytes(frame(bytes(500), chksum=1))[:256])]) == ""
