# SPDX-License-Identifier: Apache-2.0
"""One end of MAP-T by Tayga: the translator of a CE, or a border relay composed of up to 16 Taygas (RFC 7599)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from natxy.addressing.map_rules import MapSubscriber
from natxy.dut.base import Capability
from natxy.dut.linux import tayga, tun
from natxy.dut.linux.map_ends import MapEndGateway
from natxy.dut.linux.own_routes import OWN_PROTOCOL, flush_rules
from natxy.dut.linux.tayga import Tayga
from natxy.plan.gateways.map_t import MOST_PSIDS, MapTConfig
from natxy.plan.model.terms import MapEnd

# The routing table of each PSID, and the mark of its packets.
_FIRST_TABLE: Final = 120_000
_PRIORITY: Final = "110"
_PORT_BITS: Final = 16
_TABLE: Final = "inet natxy-map-t"


@dataclass(frozen=True)
class _Instance:
    """Holds a Tayga and the subscribers that it translates for, all of one PSID."""

    program: Tayga
    psid: int

    @property
    def mark(self) -> str:
        return str(_FIRST_TABLE + self.psid)


class MapTGateway(MapEndGateway[MapTConfig]):
    """Translates between IPv4 and IPv6 by a list of the subscribers' addresses, and by the default mapping rule.

    A Tayga has one IPv6 address for each IPv4 address. So a border relay has a Tayga for each PSID, nftables marks
    packets by the PSID in their port, and each mark has a routing table. The marks are the checks of a border relay,
    too: a packet of a subscriber whose address has another PSID than its port is dropped (RFC 7599 §8).
    """

    name = "map-t"
    summary = "an end of MAP-T by Tayga: the translator of a CE, or a border relay of up to 16 PSIDs"
    position = 8
    capabilities = frozenset({Capability.SET_CORES})
    tuns: ClassVar[tuple[str, ...]] = tuple(f"natxy-map{number}" for number in range(MOST_PSIDS))
    """The names of its interfaces."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cores: Sequence[int] = ()

    @classmethod
    def programs(cls, config: MapTConfig) -> dict[str, str]:
        return super().programs(config) | tayga.PROGRAMS | {"nft": "apt install nftables"}

    @cached_property
    def _instances(self) -> tuple[_Instance, ...]:
        by_psid: dict[int, list[MapSubscriber]] = defaultdict(list)
        for each in self.domain.subscribers:
            by_psid[each.ports.psid].append(each)
        files = tun.run_path(self.transport, self.name)
        return tuple(
            _Instance(
                Tayga(
                    self.transport,
                    interface,
                    f"{files}-{number}.pid",
                    tayga.settings(
                        interface, self.domain.prefix, (f"map {each.ipv4} {each.address}" for each in subscribers)
                    ),
                ),
                psid,
            )
            for number, (interface, (psid, subscribers)) in enumerate(zip(self.tuns, by_psid.items(), strict=False))
        )

    @property
    def _checks_ports(self) -> bool:
        return self.domain.end == MapEnd.CORE and self.domain.rule.psid_length > 0

    def install(self) -> None:
        # A killed run may have left its Taygas on a DUT that survives the run.
        self.uninstall()
        for each in self._instances:
            each.program.make_tun()
            tun.set_up(self.transport, each.program.tun, self.addresses.mtu)
        first = self._instances[0].program.tun
        for network in self.domain.translated:
            self.transport.run(["ip", "route", "replace", str(network), "dev", first])
        if self._checks_ports:
            for family in ("-4", "-6"):
                self._batch(family, self._by_mark())
            self.transport.run(["nft", "-f", "-"], input=self.rules())
        for each in self._instances:
            each.program.start(self._cores)

    def uninstall(self) -> None:
        if self._checks_ports:
            self.transport.run(["nft", "-f", "-"], input=f"table {_TABLE}\ndelete table {_TABLE}\n")
            for family in ("-4", "-6"):
                flush_rules(self.transport, family)
        for each in self._instances:
            each.program.stop()

    def check_alive(self) -> None:
        for each in self._instances:
            tun.check_process(self.transport, tayga.NAME, each.program.pid_file, each.program.tun)

    def set_cores(self, cores: Sequence[int]) -> None:
        """Pins the Taygas too, now and after later starts."""
        super().set_cores(cores)
        self._cores = cores
        for each in self._instances:
            each.program.pin(cores)

    def version(self) -> str:
        return f"{tayga.version(self.transport)}, {super().version()}"

    def configuration(self) -> str:
        rules = [self.rules()] if self._checks_ports else []
        return "\n".join([*(each.program.settings for each in self._instances), *rules, super().configuration()])

    def _by_mark(self) -> Iterator[str]:
        for each in self._instances:
            yield f"route replace default dev {each.program.tun} table {each.mark}"
            yield f"rule add priority {_PRIORITY} fwmark {each.mark} lookup {each.mark} protocol {OWN_PROTOCOL}"

    def _batch(self, family: str, commands: Iterator[str]) -> None:
        text = "".join(f"{command}\n" for command in commands)
        self.transport.run(["ip", family, "-batch", "-"], input=text)

    def rules(self) -> str:
        """Returns the rules of a border relay whose subscribers share addresses, as nftables reads them."""
        domain, instances = self.domain, self._instances
        length, offset = domain.rule.psid_length, domain.rule.offset
        shift = _PORT_BITS - offset - length
        mask = hex((1 << length) - 1 << shift)
        # With an offset, nobody has the first ports.
        lowest = 1 << _PORT_BITS - offset if offset else 1
        marks = ", ".join(f"{each.psid << shift:#x} : {each.mark}" for each in instances)
        # The interface identifier ends with the PSID (RFC 7597 §6).
        bound = ", ".join(f"::{each.psid:x} . {each.psid << shift:#x}" for each in instances)
        return f"""\
table {_TABLE}
delete table {_TABLE}
table {_TABLE} {{
\tchain to-subscribers {{
\t\tudp dport < {lowest} drop
\t\tmeta mark set udp dport & {mask} map {{ {marks} }} accept
\t\tdrop
\t}}
\tchain from-subscribers {{
\t\tudp sport < {lowest} drop
\t\tip6 saddr & ::ffff . udp sport & {mask} {{ {bound} }} meta mark set udp sport & {mask} map {{ {marks} }} accept
\t\tdrop
\t}}
\tchain prerouting {{
\t\ttype filter hook prerouting priority mangle; policy accept;
\t\tiifname "{self.interfaces.right}" ip daddr {domain.rule.ipv4} jump to-subscribers
\t\tiifname "{self.interfaces.left}" ip6 daddr {domain.prefix} jump from-subscribers
\t}}
}}
"""
