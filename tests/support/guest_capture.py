# SPDX-License-Identifier: Apache-2.0
"""Captures the UDP frames that pass an interface within a virtual machine, dissected by Scapy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from natxy.dut.transport.base import Transport
from tests.support.capture import Direction

QUIET_S: Final = 2.0
# Perl is in every Debian, tcpdump is not. The numbers are those of AF_PACKET, SOCK_RAW, ETH_P_ALL in network order,
# SOL_SOCKET, SO_RCVBUFFORCE, and the place of sll_pkttype in struct sockaddr_ll.
_PROGRAM: Final = r"""
$| = 1;
socket(my $s, 17, 3, 0) or die "socket: $!";
setsockopt($s, 1, 33, pack("i", 16 << 20)) or die "setsockopt: $!";
open(my $f, "<", "/sys/class/net/$ARGV[0]/ifindex") or die "ifindex: $!";
bind($s, pack("S n i S C C a8", 17, 3, int(<$f>), 0, 0, 0, "")) or die "bind: $!";
print "ready\n";
while (my $from = recv($s, my $data, 65535, 0)) {
    print unpack("C", substr($from, 10, 1)), " ", unpack("H*", $data), "\n";
}
"""
_OUTGOING: Final = "4"


@contextmanager
def captured_in_guest(place: Transport, interface: str) -> Iterator[dict[Direction, list[Packet]]]:
    """Yields lists that hold the frames of both directions in order once the block has ended."""
    folder = place.run(["mktemp", "-d"]).stdout.strip()
    place.run(["tee", f"{folder}/program"], input=_PROGRAM)
    started = f"exec setsid perl {folder}/program {interface} > {folder}/frames 2> {folder}/errors < /dev/null &"
    place.run(["sh", "-c", f"{started} echo $! > {folder}/pid"])
    frames: dict[Direction, list[Packet]] = {Direction.IN: [], Direction.OUT: []}
    try:
        _wait_ready(place, folder)
        yield frames
        time.sleep(QUIET_S)
        for line in place.run(["cat", f"{folder}/frames"]).stdout.splitlines()[1:]:
            kind, data = line.split()
            frame = Ether(bytes.fromhex(data))
            if UDP in frame:
                frames[Direction.OUT if kind == _OUTGOING else Direction.IN].append(frame)
    finally:
        place.run(["sh", "-c", f"kill $(cat {folder}/pid); rm -r {folder}"])


def _wait_ready(place: Transport, folder: str) -> None:
    for _ in range(100):
        if place.run(["cat", f"{folder}/frames"]).stdout.startswith("ready"):
            return
        time.sleep(0.1)
    raise AssertionError(place.run(["cat", f"{folder}/errors"]).stdout)
