# SPDX-License-Identifier: Apache-2.0
"""Two gateways made with Tayga: a stateless translator, and stateful NAT64 with netfilter behind Tayga."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.dut.base import Capability, DutInterfaces
from natxy.dut.drivers.tayga.process import TaygaProcess
from natxy.dut.limits import mapped_hosts
from natxy.dut.linux.gateway import LinuxGateway, NetfilterGateway
from natxy.dut.transport.base import Transport
from natxy.plan.gateways.tayga import TaygaConfig, TaygaNetfilterConfig
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


class TaygaGateway(LinuxGateway[TaygaConfig]):
    """Translates statelessly: Tayga's configuration maps each IPv6 host to an IPv4 address."""

    name = "tayga"
    summary = "Tayga, stateless in user space: SIIT, and NAT46 without connections"
    position = 5
    capabilities = frozenset({Capability.SET_CORES})

    @classmethod
    def programs(cls, config: TaygaConfig) -> dict[str, str]:
        return super().programs(config) | {"tayga": "apt install tayga"}

    def __init__(
        self, config: TaygaConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        hosts = mapped_hosts(self.name, self.translation)
        self._tayga = TaygaProcess(
            transport,
            self.translation,
            [f"map {ipv4} {ipv6}" for ipv4, ipv6 in hosts],
            [mapping.ipv4 for mapping in self.translation.mappings],
            config.core,
        )

    def install(self) -> None:
        self._tayga.start()

    def uninstall(self) -> None:
        self._tayga.stop()

    def set_cores(self, cores: Sequence[int]) -> None:
        super().set_cores(cores)
        self._tayga.set_cores(cores)

    def version(self) -> str:
        return f"{self._tayga.version()}, {self.kernel()}"

    def configuration(self) -> str:
        return f"{self._tayga.configuration}\n{self.routes()}"


class TaygaNetfilterGateway(NetfilterGateway[TaygaNetfilterConfig]):
    """Translates statefully: Tayga gives each IPv6 host an IPv4 address, and nftables maps it to the pool."""

    name = "tayga-netfilter"
    summary = "stateful NAT64: Tayga, and nftables with connection tracking behind it"
    position = 6

    @classmethod
    def programs(cls, config: TaygaNetfilterConfig) -> dict[str, str]:
        return super().programs(config) | {"tayga": "apt install tayga", "nft": "apt install nftables"}

    def __init__(
        self, config: TaygaNetfilterConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        self._tayga = TaygaProcess(
            transport, self.translation, [f"dynamic-pool {config.hosts}"], [config.hosts], config.core
        )

    def install(self) -> None:
        self._tayga.start()
        pool = self.translation.pool
        ruleset = _RULESET.format(hosts=self.config.hosts, outside=self.interfaces.right, first=pool[0], last=pool[-1])
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
