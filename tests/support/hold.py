# SPDX-License-Identifier: Apache-2.0
"""Forwards frames between two interfaces and holds each for a known time: `python hold.py LEFT RIGHT SECONDS`.

Replaces netem, which not every kernel has. Learns the tester's link addresses from the frames that it sends.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from collections import deque
from pathlib import Path

ETH_P_ALL = 3
IPV4 = b"\x08\x00"


def main(left: str, right: str, hold_s: float) -> None:
    # The time has to be exact on a busy machine too.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ports = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) for _ in (left, right)]
    for port, interface in zip(ports, (left, right), strict=True):
        port.bind((interface, 0))
    own = [bytes.fromhex(Path(f"/sys/class/net/{name}/address").read_text().replace(":", "")) for name in (left, right)]
    testers: dict[int, bytes] = {}
    held: deque[tuple[float, int, bytes]] = deque()
    print("ready", flush=True)
    while True:
        wait_s = max(0.0, held[0][0] - time.monotonic()) if held else None
        readable, _, _ = select.select(ports, [], [], wait_s)
        now = time.monotonic()
        for port in readable:
            side = ports.index(port)
            frame, address = port.recvfrom(2048)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            testers[side] = frame[6:12]
            if frame[:6] == own[side] and frame[12:14] == IPV4:
                held.append((now + hold_s, 1 - side, frame))
        while held and held[0][0] <= time.monotonic():
            _, side, frame = held.popleft()
            ports[side].send(testers[side] + own[side] + frame[12:])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
