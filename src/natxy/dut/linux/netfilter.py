# SPDX-License-Identifier: Apache-2.0
"""Base classes of gateways that translate by netfilter, and of those whose rules nftables loads."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final, TypeVar

from natxy.dut.base import Capability
from natxy.dut.linux.conntrack import ConntrackTable
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.linux.own_routes import OWN_ROUTE
from natxy.dut.transport.base import Transport
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.linux import ConntrackModel
from natxy.plan.model.addresses import IPNetwork

ConntrackT = TypeVar("ConntrackT", bound=ConntrackModel)

# The declaration before the deletion makes this one transaction, whether the table exists or not.
_NO_RULES: Final = """\
table {family} natxy
delete table {family} natxy
"""
_RULES: Final = (
    _NO_RULES
    + """\
table {family} natxy {{
\tchain {hook} {{
\t\ttype {kind} hook {hook} priority {priority}; policy accept;
\t\t{rules}
\t}}
}}
"""
)


@dataclass(frozen=True)
class Chain:
    """Holds the rules of a chain of nftables, and where its hook is."""

    kind: str
    hook: str
    priority: str
    rules: tuple[str, ...]


def address_range(pool: IPNetwork) -> str:
    """Returns the addresses in the words of nft's `snat to` and of iptables' --to-source."""
    return str(pool[0]) if pool.num_addresses == 1 else f"{pool[0]}-{pool[-1]}"


class NetfilterGateway(LinuxGateway[ConntrackT]):
    """Translates by netfilter, whose connection tracking table it sizes, counts and empties."""

    capabilities = frozenset({Capability.CLEAR, Capability.COUNT, Capability.SET_CORES})
    table: ConntrackTable

    @classmethod
    def programs(cls, config: ConntrackT) -> dict[str, str]:
        return super().programs(config) | {"conntrack": "apt install conntrack"}

    @classmethod
    def check_machine(cls, config: ConntrackT, transport: Transport, connections: int) -> None:
        ConntrackTable(transport, (), maximum=config.conntrack_max).check_size(connections)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.table = ConntrackTable(
            self.transport,
            self.addresses.networks,
            maximum=self.config.conntrack_max,
            hash_size=self.config.hash_size,
            udp_timeout_s=self.config.udp_timeout_s,
            udp_stream_timeout_s=self.config.udp_stream_timeout_s,
            tcp_timeouts_s=self.config.tcp_timeouts_s.items(),
        )

    def install(self) -> None:
        super().install()
        if route := self._pool_route():
            # As with addresses of its own, the DUT answers ARP for them, and keeps what belongs to no connection.
            self.transport.run(["ip", "route", "replace", *route])

    def uninstall(self) -> None:
        super().uninstall()
        if route := self._pool_route():
            # It fails when there is none.
            self.transport.run(["ip", "route", "del", *route], check=False)

    def check(self, need: TableNeed) -> None:
        self.table.check(need)

    def _pool_route(self) -> list[str]:
        """Returns the words for the route of the public addresses; none if they are the DUT's own address alone."""
        pool = self.addresses.pool
        if pool is None or pool == ip_network(self.addresses.right.dut.ip):
            return []
        return ["local", str(pool), "dev", self.interfaces.right, *OWN_ROUTE]

    def clear(self) -> None:
        self.table.clear()

    def count(self) -> int:
        return self.table.count()


class NftablesTranslator(NetfilterGateway[ConntrackT]):
    """Translates by a chain of nftables in the family of the responder's side."""

    @property
    @abstractmethod
    def chain(self) -> Chain:
        """Returns the chain, whose rules are in nftables' language."""

    @classmethod
    def programs(cls, config: ConntrackT) -> dict[str, str]:
        return super().programs(config) | {"nft": "apt install nftables"}

    def install(self) -> None:
        super().install()
        self._load(_RULES)

    def uninstall(self) -> None:
        super().uninstall()
        self._load(_NO_RULES)

    def version(self) -> str:
        return f"{self.transport.run(['nft', '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run(["nft", "list", "ruleset"]).stdout

    def _load(self, ruleset: str) -> None:
        family = "ip6" if self.addresses.right.dut.version == 6 else "ip"
        chain = self.chain
        text = ruleset.format(
            family=family, kind=chain.kind, hook=chain.hook, priority=chain.priority, rules="\n\t\t".join(chain.rules)
        )
        self.transport.run(["nft", "-f", "-"], input=text)


def source_nat(*rules: str) -> Chain:
    """Returns the chain for rules that replace source addresses."""
    return Chain("nat", "postrouting", "srcnat", rules)
