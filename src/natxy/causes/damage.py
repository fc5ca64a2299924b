# SPDX-License-Identifier: Apache-2.0
"""Says what is wrong with frames that came damaged: which field, and by how much.

The tester keeps the beginning of the first few of them, of 256 bytes at most.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Final

from natxy.engine.messages.results import ForeignSample

DAMAGED: Final = "corrupt_test"
_ETHERNET_HEADER_BYTES: Final = 14
_TAG_BYTES: Final = 4
_FCS_BYTES: Final = 4
_VLAN: Final = 0x8100
_IPV4_BYTES: Final = 20
_IPV6_BYTES: Final = 40
_UDP: Final = 17
_TCP: Final = 6
_TCP_BYTES: Final = 20
_IPV4_INSIDE: Final = 4
# Hop-by-hop options, routing, and destination options (RFC 8200 §4).
_EXTENSIONS: Final = frozenset({0, 43, 60})
_UDP_BYTES: Final = 8
_MOST_NAMED: Final = 2


def damage(samples: Iterable[ForeignSample], *, may_lack_checksum: bool = False) -> str:
    """Returns what is wrong with the first damaged frames, such as `UDP checksum 0xdead instead of 0x1a2b`.

    `may_lack_checksum`: packets in softwires may have none, as those of a NAT may (RFC 768).
    The text is empty if no frame was kept, or if more than what was kept would be needed to tell.
    """
    told: dict[str, str] = {}
    for sample in samples:
        if sample.kind == DAMAGED:
            for field, text in faults(base64.b64decode(sample.data_base64), may_lack_checksum=may_lack_checksum):
                told.setdefault(field, f"{field} {text}")
    return " and ".join([*told.values()][:_MOST_NAMED])


def faults(frame: bytes, *, may_lack_checksum: bool = False) -> Iterator[tuple[str, str]]:
    """Yields the fields of a test frame that are wrong, with the values that they have and should have. A frame whose
    fields are right has another length than the tester sent, or other sequence numbers or flags of TCP."""
    packet = _packet(frame)
    found = [*(_of_ipv4(packet) if _is_ipv4(packet) else _of_ipv6(packet, may_lack_checksum))]
    yield from found
    # What was cut off may have made the checksum wrong.
    if not found and _UDP_BYTES < _ip_bytes(packet) <= len(packet):
        changed = f"{frame_bytes(frame)} bytes (FCS included), another than was sent"
        yield "length", f"{changed}, or other sequence numbers or flags" if _is_tcp(packet) else changed


def frame_bytes(frame: bytes) -> int | None:
    """Returns the length in bytes, FCS included and without a tag, that the IP header gives a frame.

    `frame` may be its beginning alone; None if that is too short for an IP header.
    """
    packet = _packet(frame)
    if len(packet) < _IPV4_BYTES or not packet[0] >> 4:
        return None
    return _ETHERNET_HEADER_BYTES + _ip_bytes(packet) + _FCS_BYTES


def _packet(frame: bytes) -> bytes:
    tagged = frame[12:14] == _VLAN.to_bytes(2, "big")
    return frame[_ETHERNET_HEADER_BYTES + _TAG_BYTES * tagged :]


def _is_ipv4(packet: bytes) -> bool:
    return packet[:1] != b"" and packet[0] >> 4 == 4


def _ip_bytes(packet: bytes) -> int:
    return _word(packet, 2) if _is_ipv4(packet) else _IPV6_BYTES + _word(packet, 4)


def _of_ipv4(packet: bytes, *, optional: bool = True) -> Iterator[tuple[str, str]]:
    """Without an `optional` checksum, 0 is none."""
    header_bytes, length = 4 * (packet[0] & 0xF), _word(packet, 2)
    if len(packet) < header_bytes + _UDP_BYTES or packet[9] not in {_UDP, _TCP}:
        return
    header = packet[:header_bytes]
    expected = _checksum(header[:10] + b"\0\0" + header[12:])
    if _word(header, 10) != expected:
        yield "IPv4 header checksum", f"0x{_word(header, 10):04x} instead of 0x{expected:04x}"
    if packet[9] == _TCP:
        yield from _of_tcp(packet[header_bytes:length], length - header_bytes, packet[12:20])
        return
    yield from _of_udp(packet[header_bytes:length], length - header_bytes, packet[12:20], optional=optional)


def _of_ipv6(packet: bytes, may_lack_checksum: bool) -> Iterator[tuple[str, str]]:
    if len(packet) < _IPV6_BYTES + _UDP_BYTES:
        return
    protocol, at, end = packet[6], _IPV6_BYTES, _IPV6_BYTES + _word(packet, 4)
    while protocol in _EXTENSIONS and at + 2 <= len(packet):
        protocol, at = packet[at], at + 8 * (1 + packet[at + 1])
    if protocol == _IPV4_INSIDE and at + _IPV4_BYTES <= len(packet):
        # An end of a softwire takes no checksum away.
        yield from _of_ipv4(packet[at:end], optional=may_lack_checksum)
    if protocol == _TCP:
        yield from _of_tcp(packet[at:end], end - at, packet[8:40])
    if protocol == _UDP and at + _UDP_BYTES <= len(packet):
        yield from _of_udp(packet[at:end], end - at, packet[8:40], optional=False)


def _is_tcp(packet: bytes) -> bool:
    return packet[9 if _is_ipv4(packet) else 6] == _TCP


def _of_tcp(segment: bytes, length: int, addresses: bytes) -> Iterator[tuple[str, str]]:
    """`length` is the segment's by the IP header, of which the frame may have only a part."""
    if not _TCP_BYTES <= length <= len(segment):
        return
    found = _word(segment, 16)
    pseudo_header = addresses + _TCP.to_bytes(2, "big") + length.to_bytes(2, "big")
    expected = _checksum(pseudo_header + segment[:16] + b"\0\0" + segment[18:])
    # In a sum, 0 and 0xffff mean the same.
    if found % 0xFFFF != expected % 0xFFFF:
        yield "TCP checksum", f"0x{found:04x} instead of 0x{expected:04x}"


def _of_udp(datagram: bytes, length: int, addresses: bytes, *, optional: bool) -> Iterator[tuple[str, str]]:
    """`length` is the datagram's by the IP header, of which the frame may have only a part. Without an `optional`
    checksum, 0 is none."""
    if _word(datagram, 4) != length:
        yield "UDP length", f"{_word(datagram, 4)} instead of {length} bytes, as the IP header says"
        return
    found = _word(datagram, 6)
    if len(datagram) < length or (found == 0 and optional):
        return
    pseudo_header = addresses + length.to_bytes(2, "big") + bytes([0, _UDP])
    expected = _checksum(pseudo_header + datagram[:6] + b"\0\0" + datagram[8:]) or 0xFFFF
    if found != expected:
        left_out = found == 0xFFFF ^ _checksum(pseudo_header)
        why = ", which is that of the pseudo-header alone: an offload left the rest to a card" if left_out else ""
        yield "UDP checksum", f"0x{found:04x} instead of 0x{expected:04x}{why}"


def _word(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at : at + 2], "big")


def _checksum(octets: bytes) -> int:
    """Returns the Internet checksum (RFC 1071)."""
    total = sum(_word(octets + b"\0", at) for at in range(0, len(octets), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
