# SPDX-License-Identifier: Apache-2.0
"""Runs natxy-reference on veth pairs, and exchanges frames of Scapy with it through raw sockets."""

from __future__ import annotations

import errno
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import RootModel
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from natxy.engine.pipe import RpcPipe
from natxy.engine.program import find_reference
from natxy.errors import DutError
from tests.support.capture import inside
from tests.support.timing import wait_until

NAMESPACE: Final = f"natxy-reference-{os.getpid()}"
OURS: Final = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:01:01"}
ITS: Final = {"left": "02:00:00:00:00:11", "right": "02:00:00:00:01:11"}
PORTS: Final = [
    {"side": side, "device": f"net_af_packet{i},iface=gw-{side}", "medium": "veth", "mac": ITS[side]}
    for i, side in enumerate(OURS)
]
# Only ends a test that hangs.
PATIENCE_S: Final = 60.0

NAT44: Final = {"pool": "198.19.0.1/32"}
# The domain of RFC 7599, Appendix A.
RULE: Final = {
    "address": "2001:db8::", "address_mask": 0xFF, "address_shift": 16, "psid_mask": 0xFF, "psid_drop": 2,
    "psid_shift": 8, "identifier": True,
}  # fmt: skip
MAP: Final = {"subscribers": RULE, "ipv4": "192.0.2.0/24", "prefix": "2001:db8:ffff::/64"}

Params = RootModel[dict[str, Any]]


class Bed:
    """Holds the gateway and a raw socket at each outer end of its two veth pairs."""

    def __init__(self, gateway: RpcPipe, sockets: dict[str, socket.socket]) -> None:
        self.gateway = gateway
        self._sockets = sockets

    def call(self, method: str, **params: Any) -> Any:
        return self.gateway.call(method, Params(params))

    def apply(self, mode: str = "forward", **settings: Any) -> None:
        links = [
            {"side": "left", "addresses": ["10.0.0.1", "fd00:2::1"]},
            {"side": "right", "addresses": ["198.19.0.1", "2001:2:0:8000::1"]},
        ]
        self.call("gateway.apply", **{"mode": mode, "links": links, **settings})
        # The gateway learns its neighbor from any frame.
        for side in OURS:
            self.send(side, Ether(src=OURS[side], dst=ITS[side]) / IP(src="10.9.9.9", dst="10.9.9.8", ttl=1) / UDP())
        wait_until(lambda: sum(sum(self.counters(side)["dropped"].values()) for side in OURS) == 2, every_s=0.001)
        self.call("gateway.counters", reset=True)
        self.received("left", 0)
        self.received("right", 0)

    def counters(self, side: str) -> dict[str, Any]:
        """Returns the counters of the direction that begins at `side`."""
        return dict(self.call("gateway.counters")["forward" if side == "left" else "reverse"])

    def send(self, side: str, *frames: Packet) -> None:
        for frame in frames:
            self._send(side, bytes(frame))

    def _send(self, side: str, frame: bytes) -> None:
        """Sends again when the kernel's backlog queue, which all veths of a core share, is full."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._sockets[side].send(frame)
            except OSError as error:
                if error.errno != errno.ENOBUFS or time.monotonic() > deadline:
                    raise
                time.sleep(0.001)
            else:
                return

    def received(self, side: str, count: int, wanted: Callable[[Packet], bool] = lambda frame: True) -> list[Packet]:
        """Returns the frames that arrive until there are `count`, or for long none, and those that follow at once."""
        frames: list[Packet] = []
        deadline = time.monotonic() + PATIENCE_S
        while (len(frames) < count and time.monotonic() < deadline) or self._waits(side):
            if self._waits(side, 0.05):
                frame = Ether(self._sockets[side].recv(65535))
                if frame.src == ITS[side] and wanted(frame):
                    frames.append(frame)
        return frames

    def _waits(self, side: str, timeout_s: float = 0.02) -> bool:
        return bool(select.select([self._sockets[side]], [], [], timeout_s)[0])

    def through(self, side: str, *packets: Packet, count: int | None = None) -> list[Packet]:
        """Sends packets into `side`; returns what leaves the other side: `count` frames, or as many as were sent."""
        taken = self.counters(side)["received"] + len(packets)
        self.send(side, *[Ether(src=OURS[side], dst=ITS[side]) / packet for packet in packets])
        wait_until(lambda: self.counters(side)["received"] >= taken, every_s=0.001)
        return self.received(opposite(side), len(packets) if count is None else count)


def opposite(side: str) -> str:
    return "right" if side == "left" else "left"


@contextmanager
def raw_reference_bed(folder: Path) -> Iterator[Bed]:
    """Runs natxy-reference between two veth pairs in a namespace of its own; its log is in `folder`."""

    def run(*words: str) -> None:
        subprocess.run(["ip", "netns", "exec", NAMESPACE, *words], check=True)

    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.conf.all.arp_ignore=8")
        for side in OURS:
            run("ip", "link", "add", side, "type", "veth", "peer", "name", f"gw-{side}")
            for end in (side, f"gw-{side}"):
                run("ip", "link", "set", end, "up")
        with inside(NAMESPACE):
            sockets = {side: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for side in OURS}
            for side, raw in sockets.items():
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
                raw.bind((side, 0))
        program = [str(find_reference()), "--worker-cores", "1", "--main-core", "0"]
        log = folder / "reference.log"
        argv = ["ip", "netns", "exec", NAMESPACE, *program]
        gateway = RpcPipe(argv, log, name="natxy-reference", silence_s=20, died=DutError)
        try:
            gateway.call("ports.open", Params({"ports": PORTS}))
            yield Bed(gateway, sockets)
        finally:
            gateway.close("ports.close")
            for raw in sockets.values():
                raw.close()
    finally:
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def udp(source: str, destination: str, sport: int = 4000, dport: int = 80, payload: bytes = b"natxy" * 8) -> Packet:
    layer = IPv6(src=source, dst=destination) if ":" in source else IP(src=source, dst=destination, flags="DF")
    return layer / UDP(sport=sport, dport=dport) / Raw(payload)


def numbered(count: int, source: str = "10.0.0.2", destination: str = "198.19.0.2") -> list[Packet]:
    return [udp(source, destination, payload=b"%06d" % i + bytes(20)) for i in range(count)]


def number(frame: Packet) -> int:
    return int(bytes(frame[UDP].payload)[:6])


def endpoints(frame: Packet) -> tuple[str, int, str, int]:
    ip = frame[IPv6] if IPv6 in frame else frame[IP]
    return ip.src, frame[UDP].sport, ip.dst, frame[UDP].dport
