# SPDX-License-Identifier: Apache-2.0
"""Relays a few frames by raw sockets, for programs that stand in for cores of softwires in user space."""

from __future__ import annotations

import selectors
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Self

ETHERNET, OUTER = 14, 40
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
BUFFER_BYTES = 4_000_000


# Returns the end of the softwire that an address and a port belong to; None if nobody has them.
Lookup = Callable[[IPv4Address, int], IPv6Address | None]


def script(folder: Path, name: str, module: str) -> Path:
    """Makes a program in a folder of the function of this name, and the process has this name then."""
    # It starts in another folder.
    paths = [str(Path(path).resolve()) for path in sys.path]
    program = folder / name
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:] = {paths}\nfrom {module} import {name}\n{name}()\n"
    )
    program.chmod(0o755)
    return program


@dataclass
class Port:
    """One interface. Its next hop is what it was told, or else where the latest frame came from: the stand-in asks
    nobody."""

    socket: socket.socket
    own: bytes
    hop: bytes = bytes(6)
    is_told: bool = False

    @classmethod
    def of(cls, interface: str, own: str) -> Self:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        opened.bind((interface, 0))
        return cls(opened, bytes.fromhex(own.replace(":", "")))

    def send(self, packet: bytes) -> None:
        self.socket.send(self.hop + self.own + (IPV6 if packet[0] >> 4 == 6 else IPV4) + packet)


def with_less_ttl(packet: bytes) -> bytes:
    """Returns an IPv4 packet as a router forwards it."""
    # One less of the TTL is one more of the checksum's first byte (RFC 1624).
    total = int.from_bytes(packet[10:12]) + 0x100
    checksum = struct.pack("!H", (total & 0xFFFF) + (total >> 16))
    return packet[:8] + bytes([packet[8] - 1]) + packet[9:10] + checksum + packet[12:]


def encapsulated(inner: bytes, core: bytes, end: bytes, hop_limit: int = 64) -> bytes:
    """Returns the packet of a softwire, without what pads a short frame."""
    length = int.from_bytes(inner[2:4])
    return struct.pack("!IHBB", 6 << 28 | inner[1] << 20, length, 4, hop_limit) + core + end + inner[:length]


@dataclass
class Relay:
    """A core that looks up each packet's binding. `commands` is the socket by which the program is told changes, and
    `carry_out` answers them."""

    lookup: Lookup
    core: bytes
    internal: Port
    external: Port
    commands: socket.socket
    carry_out: Callable[[str], str]

    def end(self, address: bytes, port: bytes) -> bytes | None:
        found = self.lookup(IPv4Address(address), int.from_bytes(port))
        return found.packed if found else None

    def from_internet(self, packet: bytes) -> None:
        end = self.end(packet[16:20], packet[22:24])
        if end and packet[8] > 1:
            self.internal.send(encapsulated(with_less_ttl(packet), self.core, end))

    def from_subscriber(self, packet: bytes) -> None:
        inner = packet[OUTER : OUTER + int.from_bytes(packet[4:6])]
        if packet[6] == 4 and packet[24:40] == self.core and packet[8:24] == self.end(inner[12:16], inner[20:22]):
            self.external.send(inner)

    def run(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self.internal.socket, selectors.EVENT_READ, (self.internal, IPV6, self.from_subscriber))
        selector.register(self.external.socket, selectors.EVENT_READ, (self.external, IPV4, self.from_internet))
        selector.register(self.commands, selectors.EVENT_READ, None)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    answer(self.commands, self.carry_out)
                    continue
                port, ethertype, take = key.data
                frame, address = port.socket.recvfrom(4096)
                if address[2] != socket.PACKET_OUTGOING:
                    if not port.is_told:
                        port.hop = frame[6:12]
                    if frame[12:ETHERNET] == ethertype:
                        take(frame[ETHERNET:])


def answer(commands: socket.socket, carry_out: Callable[[str], str]) -> None:
    """Reads one command to its end, and sends back what it prints."""
    connection, _ = commands.accept()
    with connection:
        asked = b"".join(iter(lambda: connection.recv(65_536), b""))
        connection.sendall(carry_out(asked.decode()).encode())


def ask(address: str, command: str) -> str:
    """Returns what a stand-in prints on a command. OSError if there is none."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendall(command.encode())
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def listening(address: str) -> socket.socket:
    """Returns a socket by which commands come."""
    commands = socket.socket(socket.AF_UNIX)
    commands.bind(address)
    commands.listen(16)
    return commands
