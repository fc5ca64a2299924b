# SPDX-License-Identifier: Apache-2.0
"""Stands in for `vpp` and `vppctl`: carries out the few commands of VPP's that natxy writes and refuses all others, and
relays a few frames as its plugins `map` and `dslite` do."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Final

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import psid_of
from tests.support.relay_stand_in import OUTER, Port, Relay, ask, encapsulated, listening, with_less_ttl

MOST_SESSIONS: Final = 1000
FIRST_PORT: Final = 1025
UDP: Final = 17
_NONE: Final = IPv6Address(0)


@dataclass
class Domain:
    ipv4: IPv4Network
    ipv6: IPv6Network
    core: IPv6Address
    ea_length: int
    offset: int
    psid_length: int
    rules: dict[int, IPv6Address] = field(default_factory=dict)

    def end(self, address: IPv4Address, port: int) -> IPv6Address | None:
        if self.ea_length:
            rule = MapRule(self.ipv6, self.ipv4, self.ea_length, self.offset)
            try:
                return rule.subscriber_of(address, port).address
            except ValueError:
                return None
        if self.psid_length == 0:
            return self.ipv6[0]
        found = self.rules.get(psid_of(port, self.psid_length, self.offset), _NONE)
        return None if found == _NONE else found


@dataclass
class RoutedPort(Port):
    """Sends what has a route to it alone."""

    networks: list[IPv4Network | IPv6Network] = field(default_factory=list)

    def send(self, packet: bytes) -> None:
        destination = ip_address(packet[24:40] if packet[0] >> 4 == 6 else packet[16:20])
        if any(destination in network for network in self.networks):
            super().send(packet)


@dataclass
class Interface:
    port: RoutedPort
    is_up: bool = False
    has_map: bool = False


@dataclass
class Session:
    """A session of the plugin `dslite`: an address and a port of a B4, and those that stand for them outside."""

    b4: bytes
    inside: bytes
    outside: bytes
    packets: int = 0


@dataclass
class Vpp:
    """Holds what commands have set. A new domain has the place that was freed last, as in VPP's pools."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    domains: dict[int, Domain] = field(default_factory=dict)
    freed: list[int] = field(default_factory=list)
    aftr: IPv6Address | None = None
    pool: list[IPv4Address] = field(default_factory=list)
    outgoing: dict[tuple[bytes, bytes], Session] = field(default_factory=dict)
    incoming: dict[bytes, Session] = field(default_factory=dict)

    def carry_out(self, line: str) -> str:
        """Returns what VPP prints on a command, nothing if it has nothing to say."""
        for pattern, command in _COMMANDS.items():
            if found := re.fullmatch(pattern, line.strip()):
                try:
                    return command(self, *found.groups()) or ""
                except (ValueError, KeyError, IndexError) as error:
                    return f"{line}: {error!r}\n"
        return f"unknown input `{line}'\n"

    def run(self, file: str) -> str:
        return "".join(self.carry_out(line) for line in Path(file).read_text(encoding="utf-8").splitlines())

    def lookup(self, address: IPv4Address, port: int) -> IPv6Address | None:
        domain = next((each for each in self.domains.values() if address in each.ipv4), None)
        return domain.end(address, port) if domain else None

    def create(self, name: str, mac: str) -> None:
        self.interfaces[f"host-{name}"] = Interface(RoutedPort.of(name, mac))

    def set_up(self, name: str) -> None:
        self.interfaces[name].is_up = True

    def set_address(self, name: str, address: str) -> None:
        self.interfaces[name].port.networks.append(ip_interface(address).network)

    def add_route(self, network: str, hop: str, name: str) -> None:
        port = self.interfaces[name].port
        if not any(ip_address(hop) in each for each in port.networks):
            raise ValueError(f"{hop} is no neighbour")
        port.networks.append(ip_network(network))

    def set_neighbor(self, name: str, address: str, mac: str) -> None:
        ip_address(address)
        port = self.interfaces[name].port
        port.hop, port.is_told = bytes.fromhex(mac.replace(":", "")), True

    def map_interface(self, name: str) -> None:
        self.interfaces[name].has_map = True

    def add_domain(self, ipv4: str, ipv6: str, core: str, ea_length: str, offset: str, psid_length: str) -> None:
        place = self.freed.pop() if self.freed else len(self.domains)
        ends = IPv4Network(ipv4), IPv6Network(ipv6), IPv6Address(core)
        self.domains[place] = Domain(*ends, int(ea_length), int(offset), int(psid_length))

    def del_domain(self, place: str) -> None:
        del self.domains[int(place)]
        self.freed.append(int(place))

    def add_rule(self, place: str, psid: str, end: str) -> None:
        domain = self.domains[int(place)]
        if domain.ea_length or int(psid) >> domain.psid_length:
            raise ValueError("Failing to add Mapping Rule")
        domain.rules[int(psid)] = IPv6Address(end)

    def show_domain(self, place: str) -> str:
        if (domain := self.domains.get(int(place))) is None:
            return f"MAP domain does not exists {place}\n"
        return f"[{place}] ip4-pfx {domain.ipv4} ip6-pfx {domain.ipv6} ip6-src {domain.core}/128\n"

    def set_aftr(self, address: str) -> None:
        self.aftr = IPv6Address(address)

    def add_pool(self, first: str, last: str) -> None:
        low, high = IPv4Address(first), IPv4Address(last)
        self.pool += [IPv4Address(each) for each in range(int(low), int(high) + 1)]

    def show_pool(self) -> str:
        return "".join(f"{each}\n" for each in ("DS-Lite pool:", *self.pool))

    def show_aftr(self) -> str:
        return f"{self.aftr or _NONE}\n"

    def show_sessions(self) -> str:
        ends = dict.fromkeys(each.b4 for each in self.outgoing.values())
        return "".join(self._shown(IPv6Address(end), self.sessions_of(end)) for end in ends)

    def _shown(self, end: IPv6Address, sessions: list[Session]) -> str:
        lines = [f"B4 {end} {len(sessions)} sessions"]
        for each in sessions:
            inside, outside = (
                f"{IPv4Address(one[:4])}:{int.from_bytes(one[4:6])}" for one in (each.inside, each.outside)
            )
            lines += [f"  in {inside} out {outside} protocol udp", f"    total pkts {each.packets}, total bytes 0"]
        return "".join(f"{line}\n" for line in lines)

    def sessions_of(self, b4: bytes) -> list[Session]:
        return [each for each in self.outgoing.values() if each.b4 == b4]

    def session(self, b4: bytes, inside: bytes) -> Session | None:
        """Returns the session of a packet from a B4, a new one if need be; None if no port is left."""
        if found := self.outgoing.get((b4, inside)):
            return found
        if len(own := self.sessions_of(b4)) >= MOST_SESSIONS:
            del self.outgoing[b4, own[0].inside], self.incoming[own[0].outside]
        ends = (each.packed + port.to_bytes(2) for each in self.pool for port in range(FIRST_PORT, 1 << 16))
        if (outside := next((end for end in ends if end not in self.incoming), None)) is None:
            return None
        self.outgoing[b4, inside] = self.incoming[outside] = made = Session(b4, inside, outside)
        return made


_COMMANDS: Final[dict[str, Callable[..., str | None]]] = {
    r"create host-interface name (\S+) hw-addr (\S+)": Vpp.create,
    r"set interface state (\S+) up": Vpp.set_up,
    r"set interface ip address (\S+) (\S+)": Vpp.set_address,
    r"ip route add (\S+) via (\S+) (\S+)": Vpp.add_route,
    r"set ip neighbor (\S+) (\S+) (\S+) static": Vpp.set_neighbor,
    r"map interface (\S+)": Vpp.map_interface,
    r"map add domain ip4-pfx (\S+) ip6-pfx (\S+) ip6-src (\S+) ea-bits-len (\d+) psid-offset (\d+) psid-len (\d+)": (
        Vpp.add_domain
    ),
    r"map add rule index (\d+) psid (\d+) ip6-dst (\S+)": Vpp.add_rule,
    r"map del domain index (\d+)": Vpp.del_domain,
    r"show map domain index (\d+)": Vpp.show_domain,
    r"dslite set aftr-tunnel-endpoint-address (\S+)": Vpp.set_aftr,
    r"dslite add pool address (\S+) - (\S+)": Vpp.add_pool,
    r"show dslite pool": Vpp.show_pool,
    r"show dslite aftr-tunnel-endpoint-address": Vpp.show_aftr,
    r"show dslite sessions": Vpp.show_sessions,
    r"show version": lambda _: "vpp v0 (a stand-in)\n",
    r"exec (\S+)": Vpp.run,
}


class Aftr(Relay):
    """The core of softwires that is a NAT, as the plugin `dslite` is: it takes UDP checksums away."""

    vpp: Vpp

    def from_subscriber(self, packet: bytes) -> None:
        inner = packet[OUTER : OUTER + int.from_bytes(packet[4:6])]
        if packet[6] != 4 or packet[24:40] != self.core or inner[9] != UDP:
            return
        if session := self.vpp.session(packet[8:24], inner[12:16] + inner[20:22]):
            session.packets += 1
            sent = session.outside
            changed = inner[:12] + sent[:4] + inner[16:20] + sent[4:] + inner[22:26] + bytes(2) + inner[28:]
            self.external.send(with_less_ttl(with_header_checksum(changed)))

    def from_internet(self, packet: bytes) -> None:
        session = self.vpp.incoming.get(packet[16:20] + packet[22:24])
        if session and packet[9] == UDP and packet[8] > 1:
            session.packets += 1
            inside = session.inside
            changed = packet[:16] + inside[:4] + packet[20:22] + inside[4:] + packet[24:26] + bytes(2) + packet[28:]
            outer = encapsulated(with_header_checksum(changed), self.core, session.b4, packet[8] - 1)
            self.internal.send(outer)


def with_header_checksum(packet: bytes) -> bytes:
    """Returns an IPv4 packet without options whose header has the right checksum."""
    total = sum(int.from_bytes(packet[at : at + 2]) for at in range(0, 20, 2) if at != 10)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return packet[:10] + (0xFFFF ^ total).to_bytes(2) + packet[12:]


def vpp() -> None:
    Path("/proc/self/comm").write_text("vpp_main", encoding="ascii")
    startup = Path(sys.argv[sys.argv.index("-c") + 1]).read_text(encoding="utf-8")
    [(cli, file)] = re.findall(r"cli-listen (\S+) exec (\S+) ", startup)
    state = Vpp()
    print(state.run(file), end="", flush=True)
    internal, external = state.interfaces.values()
    assert internal.is_up
    assert external.is_up
    ends = (internal.port, external.port, listening(cli), state.carry_out)
    if state.aftr:
        aftr = Aftr(state.lookup, state.aftr.packed, *ends)
        aftr.vpp = state
        aftr.run()
    assert internal.has_map
    assert external.has_map
    Relay(state.lookup, state.domains[0].core.packed, *ends).run()


def vppctl() -> None:
    assert sys.argv[1] == "-s"
    try:
        print(ask(sys.argv[2], " ".join(sys.argv[3:])), end="")
    except OSError as error:
        sys.exit(f"connect: {error}")
