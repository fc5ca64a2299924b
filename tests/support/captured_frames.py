# SPDX-License-Identifier: Apache-2.0
"""Reads the identity and the four-tuple of a captured test frame, and judges its fields and checksums."""

from __future__ import annotations

from typing import Final, NamedTuple

from scapy.layers.inet import IP, TCP, UDP, in4_chksum
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.packet import Packet
from scapy.utils import checksum

from natxy.engine.messages.common import Side
from natxy.plan.model.terms import Family

# A frame's size counts the FCS, which no capture holds.
FCS_BYTES: Final = 4
# The kind of a TCP option for experiments, whose first two bytes say which (RFC 6994 §3).
EXPERIMENT: Final = 253

FourTuple = tuple[str, str, int, int]


class Signature(NamedTuple):
    """Identifies a test frame by the first 12 bytes of its payload, or of TCP's option for experiments."""

    stream: int
    run_id: int
    sequence: int


def transport_of(frame: Packet) -> Packet:
    """Returns the UDP datagram or the TCP segment."""
    return frame[TCP] if TCP in frame else frame[UDP]


def signature_of(frame: Packet) -> Signature:
    signature = bytes(transport_of(frame).payload)
    if TCP in frame and (option := dict(frame[TCP].options).get(EXPERIMENT)):
        signature = option[2:]
    assert signature[:3] == b"NXY"
    return Signature(signature[3], int.from_bytes(signature[4:6], "big"), int.from_bytes(signature[6:12], "big"))


def tuple_of(frame: Packet) -> FourTuple:
    network = frame[IP] if IP in frame else frame[IPv6]
    transport = transport_of(frame)
    return network.src, network.dst, transport.sport, transport.dport


def swapped(flow: FourTuple) -> FourTuple:
    """Returns the four-tuple of a reply."""
    return flow[1], flow[0], flow[3], flow[2]


def has_right_checksums(frame: Packet) -> bool:
    """Returns whether Scapy's sum of each header is 0 with its checksum included (RFC 1071 §1).

    A UDP checksum of 0 is wrong: a sender that computes 0 writes 0xFFFF (RFC 768).
    """
    datagram = bytes(transport_of(frame))
    if UDP in frame and frame[UDP].chksum == 0:
        return False
    protocol = 6 if TCP in frame else 17
    if IP in frame:
        header = bytes(frame[IP])[: 4 * frame[IP].ihl]
        return not (checksum(header) or in4_chksum(protocol, frame[IP], datagram))
    return not in6_chksum(protocol, frame[IPv6], datagram)


def judge(frame: Packet, family: Family, size: int, side: Side, *, ttl: int, dont_fragment: bool = False) -> None:
    """Asserts every field that doesn't vary within a stream, and the checksums."""
    assert len(frame) == size - FCS_BYTES
    ends = (
        ("02:00:00:00:00:01", "02:00:00:00:00:11") if side == Side.LEFT else ("02:00:00:00:01:01", "02:00:00:00:01:11")
    )
    assert (frame.src, frame.dst) == ends
    if family == Family.IPV4:
        network = frame[IP]
        assert frame.type == 0x0800
        assert (network.version, network.ihl, network.tos, network.frag) == (4, 5, 0, 0)
        assert (network.ttl, network.proto) == (ttl, 17)
        assert network.flags == ("DF" if dont_fragment else 0)
        assert network.len == size - FCS_BYTES - 14
        header = 20
    else:
        network = frame[IPv6]
        assert frame.type == 0x86DD
        assert (network.version, network.tc, network.fl) == (6, 0, 0)
        assert (network.hlim, network.nh) == (ttl, 17)
        assert network.plen == size - FCS_BYTES - 14 - 40
        header = 40
    assert frame[UDP].len == size - FCS_BYTES - 14 - header
    assert has_right_checksums(frame)
    payload = bytes(frame[UDP].payload)
    assert payload[18:] == bytes(len(payload) - 18)
