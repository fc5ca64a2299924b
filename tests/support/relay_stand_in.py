# SPDX-License-Identifier: Apache-2.0
"""Stands in for `snabb` and `vpp`: a relay of a few frames by raw sockets, which knows no more than their configuration
says."""

from __future__ import annotations

import re
import selectors
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import psid_of
from natxy.plan.bindings.lines import TableReader
from natxy.plan.bindings.snabb import read_snabb
from natxy.plan.bindings.vpp import read_vpp

ETHERNET, OUTER = 14, 40
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
BUFFER_BYTES = 4_000_000


# Returns the end of the softwire that an address and a port belong to; None if nobody has them.
Lookup = Callable[[IPv4Address, int], IPv6Address | None]


def script(folder: Path, name: str) -> Path:
    """Makes a program of this name in a folder, whose process has this name then."""
    # It starts in another folder.
    paths = [str(Path(path).resolve()) for path in sys.path]
    program = folder / name
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:] = {paths}\nfrom {__name__} import {name}\n{name}()\n"
    )
    program.chmod(0o755)
    return program


@dataclass
class Port:
    """One interface. Its next hop is where the latest frame came from: the stand-in asks nobody."""

    socket: socket.socket
    own: bytes
    hop: bytes = bytes(6)

    @classmethod
    def of(cls, interface: str, own: str) -> Port:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        opened.bind((interface, 0))
        return cls(opened, bytes.fromhex(own.replace(":", "")))

    def send(self, packet: bytes) -> None:
        self.socket.send(self.hop + self.own + (IPV6 if packet[0] >> 4 == 6 else IPV4) + packet)


@dataclass
class Relay:
    lookup: Lookup
    core: bytes
    internal: Port
    external: Port

    def end(self, address: bytes, port: bytes) -> bytes | None:
        found = self.lookup(IPv4Address(address), int.from_bytes(port))
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


def of_table(table: TableReader) -> Lookup:
    return lambda address, port: table.ends.get((address, psid_of(port, table.psid_length or 0, table.offset or 0)))


def of_rule(rule: MapRule) -> Lookup:
    def lookup(address: IPv4Address, port: int) -> IPv6Address | None:
        try:
            return rule.subscriber_of(address, port).address
        except ValueError:
            return None

    return lookup


def snabb() -> None:
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
        [interface] = re.findall(rf' {device} "(\S+)";', settings)
        [own] = re.findall(rf"{block}-interface {{ ip \S+; mac (\S+);", settings)
        ports.append(Port.of(interface, own))
    Relay(of_table(table), table.core.packed, *ports).run()


def vpp() -> None:
    Path("/proc/self/comm").write_text("vpp_main", encoding="ascii")
    startup = Path(sys.argv[sys.argv.index("-c") + 1]).read_text(encoding="utf-8")
    [(cli, file)] = re.findall(r"cli-listen (\S+) exec (\S+) ", startup)
    commands = Path(file).read_text(encoding="utf-8")
    ports = [Port.of(*each) for each in re.findall(r"create host-interface name (\S+) hw-addr (\S+)", commands)]
    rule = re.search(r"ip4-pfx (\S+) ip6-pfx (\S+) ip6-src (\S+) ea-bits-len ([1-9]\d*) psid-offset (\d+)", commands)
    if rule:
        mapping = MapRule(IPv6Network(rule[2]), IPv4Network(rule[1]), int(rule[4]), int(rule[5]))
        lookup, core = of_rule(mapping), IPv6Address(rule[3])
    else:
        table = read_vpp(commands)
        assert table.core
        lookup, core = of_table(table), table.core
    Path(cli).touch()
    Relay(lookup, core.packed, *ports).run()


def vppctl() -> None:
    assert sys.argv[1] == "-s"
    if not Path(sys.argv[2]).exists():
        print("connect: No such file or directory")
    else:
        print("vpp v0 (a stand-in)" if sys.argv[3:] == ["show", "version"] else "[0] ip4-pfx")
