# SPDX-License-Identifier: Apache-2.0
"""Stateful NAT44 or NAT66 by nftables: masquerade on the interface to the responder's side."""

from __future__ import annotations

from natxy.dut.base import Capability, DutInterfaces, TableNeed
from natxy.dut.conntrack import ConntrackTable
from natxy.dut.linux import LinuxGateway
from natxy.dut.transport import Transport
from natxy.plan.addresses import AddressPlan
from natxy.plan.gateways import NftablesConfig

# Declared before it is deleted, so that the whole is one transaction whether the table was there or not.
_RULESET = """\
table {family} natxy
delete table {family} natxy
table {family} natxy {{
\tchain postrouting {{
\t\ttype nat hook postrouting priority srcnat; policy accept;
\t\toifname "{outside}" masquerade
\t}}
}}
"""


class NftablesGateway(LinuxGateway[NftablesConfig]):
    name = "nftables"
    summary = "nftables masquerade with connection tracking: NAT44, or NAT66 with IPv6 addresses"
    capabilities = frozenset({Capability.CLEAR, Capability.COUNT})
    stateful = True
    table: ConntrackTable

    def __init__(
        self, config: NftablesConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        self._family = "ip6" if addresses.left.dut.version == 6 else "ip"
        self.table = ConntrackTable(
            transport,
            maximum=config.conntrack_max,
            hash_size=config.hash_size,
            udp_timeout_s=config.udp_timeout_s,
            udp_stream_timeout_s=config.udp_stream_timeout_s,
        )

    def install(self) -> None:
        ruleset = _RULESET.format(family=self._family, outside=self.interfaces.right)
        self.transport.run(["nft", "-f", "-"], input=ruleset)

    def uninstall(self) -> None:
        self.transport.run(["nft", "-f", "-"], input=f"table {self._family} natxy\ndelete table {self._family} natxy\n")

    def version(self) -> str:
        return f"{self.transport.run(['nft', '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run(["nft", "list", "ruleset"]).stdout

    def check(self, need: TableNeed) -> None:
        self.table.check(need)

    def clear(self) -> None:
        self.table.clear()

    def count(self) -> int:
        return self.table.count()
