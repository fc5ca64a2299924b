# SPDX-License-Identifier: Apache-2.0
"""Joins a trunk with the access ports of its VLANs, as a switch does, because few test kernels have VLANs.

Usage: python vlan_switch.py TRUNK ID=INTERFACE …, or OUTER.ID=INTERFACE for a VLAN within a service VLAN; the program
says `ready` and runs until it is ended. Frames of other VLANs and frames without a tag are dropped.
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
from typing import Final

_ALL: Final = 3
_VLAN: Final = 0x8100
_SERVICE_VLAN: Final = 0x88A8
# From <linux/if_packet.h>, <linux/socket.h> and <asm/socket.h>.
_SO_RCVBUFFORCE: Final = 33
_SOL_PACKET: Final = 263
_PACKET_AUXDATA: Final = 8
_PACKET_IGNORE_OUTGOING: Final = 23
_AUXDATA: Final = struct.Struct("=IIIHHHH")
_TAG_IS_VALID: Final = 1 << 4
_ADDRESSES: Final = 12
_BUFFER_BYTES: Final = 16 << 20
_LONGEST: Final = 65536


def opened(interface: str) -> socket.socket:
    """Returns a socket that sends on an interface, and receives what others send to it."""
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    port.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
    port.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    port.bind((interface, _ALL))
    return port


def received(port: socket.socket) -> tuple[bytes, int | None]:
    """Returns a frame without its tag, and the VLAN; the kernel has put the tag beside the frame."""
    frame, beside, _, _ = port.recvmsg(_LONGEST, socket.CMSG_SPACE(_AUXDATA.size))
    for level, kind, data in beside:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, *_, tag, _type = _AUXDATA.unpack(data[: _AUXDATA.size])
            return frame, tag & 0xFFF if status & _TAG_IS_VALID else None
    return frame, None


def within(frame: bytes, outer: int | None) -> tuple[bytes, tuple[int, ...]]:
    """Returns a frame without its inner tag, and its VLANs, the outer one first."""
    kind, inner = struct.unpack("!HH", frame[_ADDRESSES : _ADDRESSES + 4])
    if outer is None:
        return frame, ()
    if kind != _VLAN:
        return frame, (outer,)
    return frame[:_ADDRESSES] + frame[_ADDRESSES + 4 :], (outer, inner & 0xFFF)


def tagged(frame: bytes, *vlans: int) -> bytes:
    """Returns a frame with the tags of these VLANs, the outer one first."""
    kinds = [_VLAN] if len(vlans) == 1 else [_SERVICE_VLAN, _VLAN]
    tags = b"".join(struct.pack("!HH", *each) for each in zip(kinds, vlans, strict=True))
    return frame[:_ADDRESSES] + tags + frame[_ADDRESSES:]


def main(trunk_name: str, *access: str) -> None:
    trunk = opened(trunk_name)
    named = (each.split("=") for each in access)
    ports = {tuple(map(int, numbers.split("."))): opened(name) for numbers, name in named}
    vlans = {port: each for each, port in ports.items()}
    waiting = selectors.DefaultSelector()
    for port in (trunk, *vlans):
        waiting.register(port, selectors.EVENT_READ, port)
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            port = key.data
            frame, outer = received(port)
            if port is not trunk:
                trunk.send(tagged(frame, *vlans[port]))
                continue
            untagged, found = within(frame, outer)
            if found in ports:
                ports[found].send(untagged)


if __name__ == "__main__":
    main(*sys.argv[1:])
