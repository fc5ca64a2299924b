# SPDX-License-Identifier: Apache-2.0
"""The forms of test frames: what stands before their signature besides the IP header with their addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from natxy.plan.frames.mix import sizes_text
from natxy.plan.frames.sizes import SMALLEST_FRAME
from natxy.plan.model.terms import Family

# Ethernet's, IP's and TCP's, with the FCS.
_HEADERS_BYTES: Final = {Family.IPV4: 14 + 20 + 20 + 4, Family.IPV6: 14 + 40 + 20 + 4}
# By so many is a segment without data longer than the smallest with data, which is the signature: an option has it.
_OPTION_BYTES: Final = 10


LEAST_MSS: Final = 536
"""The data of a segment that every host receives over IPv4 (RFC 9293 §3.7.1)."""


class Form(StrEnum):
    """Names what a test frame has before its signature besides the IP header with its addresses, as in messages to the
    engine: UDP, maybe behind extension headers of IPv6 or the IPv6 header of a softwire, or TCP. Mapped, it is an IPv6
    frame whose addresses are those of IPv4 hosts (RFC 7599). A segment of TCP without data has its signature in an
    option."""

    UDP = "udp"
    HOP_BY_HOP = "udp-hop-by-hop"
    DESTINATION_OPTIONS = "udp-destination-options"
    BOTH_OPTIONS = "udp-both-options"
    SOFTWIRE_FROM_EDGE = "softwire-from-edge"
    SOFTWIRE_FROM_CORE = "softwire-from-core"
    MAP_FROM_EDGE = "map-from-edge"
    MAP_FROM_CORE = "map-from-core"
    TCP = "tcp"
    TCP_OPTION = "tcp-option"


class Protocol(StrEnum):
    """The transport protocol of test frames."""

    UDP = "udp"
    TCP = "tcp"

    @property
    def longer_bytes(self) -> int:
        """The bytes by which its header is longer than UDP's."""
        return 12 if self == Protocol.TCP else 0


class ExtensionHeaders(StrEnum):
    """The IPv6 extension headers of test frames, 8 bytes each (RFC 5180 §5.3)."""

    NONE = "none"
    HOP_BY_HOP = "hop-by-hop"
    DESTINATION_OPTIONS = "destination-options"
    BOTH = "both"

    @property
    def form(self) -> Form:
        return {
            ExtensionHeaders.HOP_BY_HOP: Form.HOP_BY_HOP,
            ExtensionHeaders.DESTINATION_OPTIONS: Form.DESTINATION_OPTIONS,
            ExtensionHeaders.BOTH: Form.BOTH_OPTIONS,
        }.get(self, Form.UDP)

    @property
    def bytes(self) -> int:
        return {ExtensionHeaders.NONE: 0, ExtensionHeaders.BOTH: 16}.get(self, 8)

    def smallest_frame(self, family: Family) -> int:
        """Returns the size of the smallest frame of a family that holds these headers and the signature."""
        return SMALLEST_FRAME[family] + (self.bytes if family == Family.IPV6 else 0)


def smallest_frame(protocol: Protocol, headers: ExtensionHeaders, families: Iterable[Family]) -> int:
    """Returns the smallest size in which frames of all these families hold the headers and the signature."""
    return protocol.longer_bytes + max(headers.smallest_frame(family) for family in families)


def data_bytes_of(frame_size: int, family: Family) -> int:
    """Returns how many bytes of data a segment of TCP has, of which the signature is the first."""
    return frame_size - _HEADERS_BYTES[family]


def segment_frame(family: Family) -> int:
    """Returns the size of a frame with a segment of TCP without data."""
    return SMALLEST_FRAME[family] + Protocol.TCP.longer_bytes + _OPTION_BYTES


@dataclass(frozen=True)
class Frames:
    """The frames of one sender: frame n has size n of `sizes`, which repeat."""

    sizes: Sequence[int]
    form: Form = Form.UDP

    def text(self, family: Family) -> str:
        """Returns `84-byte ipv6 frames`, `76-byte ipv4 frames of TCP (without data 86)`, or `ipv6 frames of 7 × 84 +
        4 × 594 + 1 × 1518 bytes (mean 373.5)`."""
        one = len(self.sizes) == 1
        if self.form == Form.TCP:
            return f"{self.sizes[0]}-byte {family} frames of TCP (without data {segment_frame(family)})"
        return f"{self.sizes[0]}-byte {family} frames" if one else f"{family} frames of {sizes_text(self.sizes)}"
