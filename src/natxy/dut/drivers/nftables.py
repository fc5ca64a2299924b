# SPDX-License-Identifier: Apache-2.0
"""Stateful NAT44 or NAT66 by nftables: masquerade on the interface to the responder's side."""

from __future__ import annotations

from natxy.dut.linux.netfilter import NetfilterGateway
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


class NftablesGateway(NetfilterGateway[NftablesConfig]):
    name = "nftables"
    summary = "nftables masquerade with connection tracking: NAT44, or NAT66 with IPv6 addresses"

    @classmethod
    def programs(cls, config: NftablesConfig) -> dict[str, str]:
        return super().programs(config) | {"nft": "apt install nftables"}

    @property
    def _family(self) -> str:
        return "ip6" if self.addresses.left.dut.version == 6 else "ip"

    def install(self) -> None:
        ruleset = _RULESET.format(family=self._family, outside=self.interfaces.right)
        self.transport.run(["nft", "-f", "-"], input=ruleset)

    def uninstall(self) -> None:
        self.transport.run(["nft", "-f", "-"], input=f"table {self._family} natxy\ndelete table {self._family} natxy\n")

    def version(self) -> str:
        return f"{self.transport.run(['nft', '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run(["nft", "list", "ruleset"]).stdout
