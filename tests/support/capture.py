# SPDX-License-Identifier: Apache-2.0
"""Captures the frames of UDP and TCP that pass an interface of another network namespace, dissected by Scapy."""

from __future__ import annotations

import ctypes
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

from scapy.layers.inet import TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

# From <linux/sched.h>, <linux/if_ether.h> and <asm/socket.h>; Python has no names for them.
CLONE_NEWNET: Final = 0x40000000
ETH_P_ALL: Final = 3
SO_RCVBUFFORCE: Final = 33
# The kernel accounts about 2.3 KiB for a frame of 1518 bytes: room for some thousand frames.
BUFFER_BYTES: Final = 16 << 20
QUIET_S: Final = 0.05
PATIENCE_S: Final = 5.0


class Direction(Enum):
    """Selects the frames that an interface receives, those that it sends, or both."""

    IN = "in"
    OUT = "out"
    BOTH = "both"


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Moves this thread to a network namespace: the sockets that it opens belong there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/self/ns/net").open() as own, Path(f"/run/netns/{namespace}").open() as there:
        assert libc.setns(there.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            libc.setns(own.fileno(), CLONE_NEWNET)


def capture_socket(namespace: str, interface: str) -> socket.socket:
    """Returns a socket that receives every frame of the interface, in both directions."""
    with inside(namespace):
        # Protocol 0 receives nothing until bind() names the interface.
        capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    capture.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    capture.bind((interface, ETH_P_ALL))
    return capture


@contextmanager
def captured(namespace: str, interface: str, direction: Direction, *, at_least: int = 0) -> Iterator[list[Packet]]:
    """Yields a list that holds the frames in order once the block has ended.

    Until then they wait in the socket. A frame that the tester has received is there already. The capture ends when
    none has come for 0.05 s, or for 5 s before there are `at_least` so many.
    """
    frames: list[Packet] = []
    with capture_socket(namespace, interface) as capture:
        yield frames
        while select.select([capture], [], [], QUIET_S if len(frames) >= at_least else PATIENCE_S)[0]:
            data, address = capture.recvfrom(65535)
            own = Direction.OUT if address[2] == socket.PACKET_OUTGOING else Direction.IN
            frame = Ether(data)
            if direction in (own, Direction.BOTH) and (UDP in frame or TCP in frame):
                frames.append(frame)
