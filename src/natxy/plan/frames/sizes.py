# SPDX-License-Identifier: Apache-2.0
"""Sizes of Ethernet frames, in bytes. They include the FCS, but neither VLAN tags nor what only a wire has."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.addresses import USUAL_MTU
from natxy.plan.model.terms import Family

# The header and the FCS, which an MTU does not include.
ETHERNET_FRAMING_BYTES: Final = 18
# Preamble, start delimiter and inter-frame gap, which a frame takes on the wire in addition to its size.
ETHERNET_OVERHEAD_BYTES: Final = 20
# The tag of a VLAN (IEEE 802.1Q).
VLAN_TAG_BYTES: Final = 4

LONGEST_FRAME: Final = 9216

# A test frame has 18 bytes of signature, as payload: 64 bytes fit it in IPv4, and 14 + 40 + 8 + 18 + 4 in IPv6.
SMALLEST_FRAME: Final = {Family.IPV4: 64, Family.IPV6: 84}


def line_rate_fps(line_bps: float, frame_size: float) -> float:
    """Returns the theoretical maximum of one direction of an Ethernet link.

    Where the gateway changes the size, `frame_size` is the longer one (RFC 8219 §7.1); of a mix, it is the mean.
    """
    return line_bps / (8 * (frame_size + ETHERNET_OVERHEAD_BYTES))


def mtu_for(longest_frame: int) -> int:
    """Returns the MTU of links that carry frames of up to this size; it is never below the usual one."""
    return max(USUAL_MTU, longest_frame - ETHERNET_FRAMING_BYTES)
