# SPDX-License-Identifier: Apache-2.0
"""Ethernet frame sizes in bytes, including the FCS, and the frame rates of a line."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.terms import Family

# Header and FCS, which a frame size includes and an MTU does not.
ETHERNET_BYTES: Final = 18
# Preamble, start delimiter and inter-frame gap, which a frame takes on the wire in addition to its size.
ETHERNET_OVERHEAD_BYTES: Final = 20

LONGEST_FRAME: Final = 9216

# A test frame has 18 bytes of signature, as payload: 64 bytes fit it in IPv4, and 14 + 40 + 8 + 18 + 4 in IPv6.
SMALLEST_FRAME: Final = {Family.IPV4: 64, Family.IPV6: 84}


def line_rate_fps(line_bps: float, frame_size: float) -> float:
    """Returns the theoretical maximum of one direction of an Ethernet link.

    `frame_size` is in bytes, including the FCS; where the gateway changes it, it is the longer one (RFC 8219 §7.1).
    """
    return line_bps / (8 * (frame_size + ETHERNET_OVERHEAD_BYTES))
