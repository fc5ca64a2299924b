# SPDX-License-Identifier: Apache-2.0
"""Stateless translation between IPv6 and IPv4 by Tayga."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.dut.base import Capability, DutInterfaces
from natxy.dut.drivers.mapped_hosts import mapped_hosts
from natxy.dut.drivers.tayga_process import TaygaProcess
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.base import Transport
from natxy.plan.gateways import TaygaConfig
from natxy.plan.model.addresses import AddressPlan


class TaygaGateway(LinuxGateway[TaygaConfig]):
    name = "tayga"
    summary = "Tayga, stateless in user space: SIIT, and NAT46 without connections"
    capabilities = frozenset({Capability.SET_CORES})

    @classmethod
    def programs(cls, config: TaygaConfig) -> dict[str, str]:
        return super().programs(config) | {"tayga": "apt install tayga"}

    def __init__(
        self, config: TaygaConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        translation = addresses.translation
        assert translation is not None
        hosts = mapped_hosts(self.name, translation)
        self._tayga = TaygaProcess(
            transport,
            translation,
            [f"map {ipv4} {ipv6}" for ipv4, ipv6 in hosts],
            [mapping.ipv4 for mapping in translation.mappings],
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
