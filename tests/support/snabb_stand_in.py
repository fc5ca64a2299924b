# SPDX-License-Identifier: Apache-2.0
"""Stands in for `snabb`: a relay of a few frames by raw sockets, which knows no more than the configuration says."""

from __future__ import annotations

import re
import selectors
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from natxy.addressing.port_sets import psid_of
from natxy.plan.bindings.snabb import read_snabb

ETHERNET, OUTER = 14, 40
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
BUFFER_BYTES = 4_000_000


def wrapper() -> str:
    """Returns a script that can be called `snabb`, whose process has this name then."""
    # It starts in another folder.
    paths = [str(Path(path).resolve()) for path in sys.path]
    return f"#!{sys.executable}\nimport sys\nsys.path[:] = {paths}\nfrom {__name__} import main\nmain()\n"


@dataclass
class Port:
    """One interface. Its next hop is where the latest frame came from: the stand-in asks nobody."""

    socket: socket.socket
    own: bytes
    hop: bytes = bytes(6)

    @classmethod
    def of(cls, interface: str, block: str) -> Port:
        [own] = re.findall(r"\bmac (\S+);", block)
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        opened.bind((interface, 0))
        return cls(opened, bytes.fromhex(own.replace(":", "")))

    def send(self, packet: bytes) -> None:
        self.socket.send(self.hop + self.own + (IPV6 if packet[0] >> 4 == 6 else IPV4) + packet)


@dataclass
class Relay:
    ends: Mapping[tuple[IPv4Address, int], IPv6Address]
    core: bytes
    psid_length: int
    offset: int
    internal: Port
    external: Port

    def end(self, address: bytes, port: bytes) -> bytes | None:
        """Returns the end of the softwire that an address and a port belong to."""
        psid = psid_of(int.from_bytes(port), self.psid_length, self.offset)
        found = self.ends.get((IPv4Address(address), psid))
        return found.packed if found else None

    def from_internet(self, packet: bytes) -> None:
        end = self.end(packet[16:20], packet[22:24])
        if end and packet[8] > 1:
            # One less of the TTL is one more of the checksum's first byte (RFC 1624).
            total = int.from_bytes(packet[10:12]) + 0x100
            inner = packet[:8] + bytes([packet[8] - 1]) + packet[9:10]
            inner += struct.pack("!H", (total & 0xFFFF) + (total >> 16)) + packet[12:]
            length = int.from_bytes(inner[2:4])
            outer = struct.pack("!IHBB", 6 << 28 | inner[1] << 20, length, 4, 64) + self.core + end
            self.internal.send(outer + inner[:length])

    def from_subscriber(self, packet: bytes) -> None:
        inner = packet[OUTER : OUTER + int.from_bytes(packet[4:6])]
        if packet[6] == 4 and packet[24:40] == self.core and packet[8:24] == self.end(inner[12:16], inner[20:22]):
            self.external.send(inner)

    def run(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self.internal.socket, selectors.EVENT_READ, (self.internal, IPV6, self.from_subscriber))
        selector.register(self.external.socket, selectors.EVENT_READ, (self.external, IPV4, self.from_internet))
        while True:
            for key, _ in selector.select():
                port, ethertype, take = key.data
                frame, address = port.socket.recvfrom(4096)
                if address[2] != socket.PACKET_OUTGOING:
                    port.hop = frame[6:12]
                    if frame[12:ETHERNET] == ethertype:
                        take(frame[ETHERNET:])


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print("snabb 0 (a stand-in)")
        return
    assert sys.argv[1:3] == ["lwaftr", "run"]
    assert "--xdp" not in sys.argv
    settings = Path(sys.argv[sys.argv.index("--conf") + 1]).read_text(encoding="utf-8")
    table = read_snabb(settings)
    assert table.core
    ports = []
    for device, block in (("device", "internal"), ("external-device", "external")):
        interface = re.search(rf' {device} "(\S+)";', settings)
        own = re.search(rf"{block}-interface {{ ip .*", settings)
        assert interface
        assert own
        ports.append(Port.of(interface[1], own[0]))
    Relay(table.ends, table.core.packed, table.psid_length or 0, table.offset or 0, *ports).run()
