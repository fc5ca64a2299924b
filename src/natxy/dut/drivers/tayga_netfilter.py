# SPDX-License-Identifier: Apache-2.0
"""Stateful NAT64 by Tayga and netfilter: Tayga translates statelessly, nftables maps its hosts to the pool."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.tayga_process import TaygaProcess
from natxy.dut.linux.netfilter import NetfilterGateway
from natxy.dut.transport.base import Transport
from natxy.plan.gateways import TaygaNetfilterConfig
from natxy.plan.model.addresses import AddressPlan

_RULESET = """\
table ip natxy
delete table ip natxy
table ip natxy {{
\tchain postrouting {{
\t\ttype nat hook postrouting priority srcnat; policy accept;
\t\tip saddr {hosts} oifname "{outside}" snat to {first}-{last}
\t}}
}}
"""


class TaygaNetfilterGateway(NetfilterGateway[TaygaNetfilterConfig]):
    name = "tayga-netfilter"
    summary = "stateful NAT64: Tayga, and nftables with connection tracking behind it"

    @classmethod
    def programs(cls, config: TaygaNetfilterConfig) -> dict[str, str]:
        return super().programs(config) | {"tayga": "apt install tayga", "nft": "apt install nftables"}

    def __init__(
        self, config: TaygaNetfilterConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        translation = addresses.translation
        assert translation is not None
        self._pool = translation.pool
        self._tayga = TaygaProcess(
            transport, translation, [f"dynamic-pool {config.hosts}"], [config.hosts], config.core
        )

    def install(self) -> None:
        self._tayga.start()
        ruleset = _RULESET.format(
            hosts=self.config.hosts, outside=self.interfaces.right, first=self._pool[0], last=self._pool[-1]
        )
        self.transport.run(["nft", "-f", "-"], input=ruleset)

    def uninstall(self) -> None:
        self.transport.run(["nft", "-f", "-"], input="table ip natxy\ndelete table ip natxy\n")
        self._tayga.stop()

    def set_cores(self, cores: Sequence[int]) -> None:
        super().set_cores(cores)
        self._tayga.set_cores(cores)

    def version(self) -> str:
        nftables = self.transport.run(["nft", "--version"]).stdout.strip()
        return f"{self._tayga.version()}, {nftables}, {self.kernel()}"

    def configuration(self) -> str:
        rules = self.transport.run(["nft", "list", "ruleset"]).stdout
        return f"{self._tayga.configuration}\n{rules}\n{self.routes()}"
