# SPDX-License-Identifier: Apache-2.0
"""One end of MAP-T: the translator of a CE, or a border relay composed of up to 16 translators (RFC 7599)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability
from natxy.dut.drivers.map_t.by_jool import ByJool
from natxy.dut.drivers.map_t.by_tayga import ByTayga
from natxy.dut.linux import tayga
from natxy.dut.linux.map_ends import MapEndGateway
from natxy.errors import DutError
from natxy.plan.gateways.map_t import MapTBy, MapTConfig

_PORT_BITS: Final = 16
_TABLE: Final = "inet natxy-map-t"
_TRANSLATORS: Final = {MapTBy.TAYGA: ByTayga, MapTBy.JOOL_SIIT: ByJool}
_PROGRAMS: Final = {
    MapTBy.TAYGA: tayga.PROGRAMS,
    MapTBy.JOOL_SIIT: {"jool_siit": "apt install jool-tools", "iptables": "apt install iptables"},
}


class MapTGateway(MapEndGateway[MapTConfig]):
    """Translates between IPv4 and IPv6 by a list of the subscribers' addresses, and by the default mapping rule.

    A border relay has a translator for each PSID, and nftables marks packets by the PSID in their port. The marks are
    the checks of a border relay, too: a packet of a subscriber whose address has another PSID than its port is dropped
    (RFC 7599 §8).
    """

    name = "map-t"
    summary = "an end of MAP-T by Tayga or Jool SIIT: the translator of a CE, or a border relay of up to 16 PSIDs"
    position = 8
    capabilities = frozenset({Capability.SET_CORES})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cores: Sequence[int] = ()
        self._translators = _TRANSLATORS[self.config.by](self.transport, self.domain, self.addresses.mtu)

    @classmethod
    def programs(cls, config: MapTConfig) -> dict[str, str]:
        return super().programs(config) | _PROGRAMS[config.by] | {"nft": "apt install nftables"}

    def install(self) -> None:
        # A killed run may have left its translators on a DUT that survives the run.
        self.uninstall()
        if self._translators.marked:
            self.transport.run(["nft", "-f", "-"], input=self.rules())
        self._translators.install(self._cores)

    def uninstall(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._translators.uninstall)
            if self._translators.marked:
                self.transport.run(["nft", "-f", "-"], input=f"table {_TABLE}\ndelete table {_TABLE}\n")

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        if not isinstance(self._translators, ByJool):
            # Tayga reads its mappings when it starts.
            super().set_unbound(without)
            return
        try:
            self._translators.map_without(without)
        except DutError:
            # Some instances may have got a new table: all subscribers get their mappings.
            self.install()
            raise

    def check_alive(self) -> None:
        self._translators.check_alive()

    def set_cores(self, cores: Sequence[int]) -> None:
        """Pins processes of the translators too, now and after later starts."""
        super().set_cores(cores)
        self._cores = cores
        self._translators.pin(cores)

    def version(self) -> str:
        return f"{self._translators.version()}, {super().version()}"

    def configuration(self) -> str:
        rules = [self.rules()] if self._translators.marked else []
        return "\n".join([*self._translators.settings(), *rules, super().configuration()])

    def rules(self) -> str:
        """Returns the rules of a border relay whose subscribers share addresses, as nftables reads them.

        They drop what has no port: ICMP, and fragments but the first.
        """
        domain, translators = self.domain, self._translators
        length, offset = domain.rule.psid_length, domain.rule.offset
        shift = _PORT_BITS - offset - length
        mask = hex((1 << length) - 1 << shift)
        # With an offset, nobody has the first ports.
        lowest = 1 << _PORT_BITS - offset if offset else 1
        marks = ", ".join(f"{psid << shift:#x} : {translators.mark(psid)}" for psid in translators.subscribers)
        # The interface identifier ends with the PSID (RFC 7597 §6).
        bound = ", ".join(f"::{psid:x} . {psid << shift:#x}" for psid in translators.subscribers)
        # Iptables' rules of Jool see the marks at priority -150, and come after these.
        return f"""\
table {_TABLE}
delete table {_TABLE}
table {_TABLE} {{
\tchain to-subscribers {{
\t\tmeta l4proto != {{ tcp, udp }} drop
\t\tth dport < {lowest} drop
\t\tmeta mark set th dport & {mask} map {{ {marks} }} accept
\t\tdrop
\t}}
\tchain from-subscribers {{
\t\tmeta l4proto != {{ tcp, udp }} drop
\t\tth sport < {lowest} drop
\t\tip6 saddr & ::ffff . th sport & {mask} {{ {bound} }} meta mark set th sport & {mask} map {{ {marks} }} accept
\t\tdrop
\t}}
\tchain prerouting {{
\t\ttype filter hook prerouting priority raw; policy accept;
\t\tiifname "{self.interfaces.right}" ip daddr {domain.rule.ipv4} jump to-subscribers
\t\tiifname "{self.interfaces.left}" ip6 daddr {domain.prefix} jump from-subscribers
\t}}
}}
"""
