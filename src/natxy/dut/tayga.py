# SPDX-License-Identifier: Apache-2.0
"""Stateless translation between IPv6 and IPv4 by Tayga."""

from __future__ import annotations

from natxy.dut.base import DutInterfaces
from natxy.dut.linux import LinuxGateway
from natxy.dut.tayga_process import TaygaProcess
from natxy.dut.transport import Transport
from natxy.errors import PlanError
from natxy.plan.addresses import AddressPlan
from natxy.plan.gateways import TaygaConfig

# Tayga 0.9.2 looks hosts up in a list, and its configuration has a line for each.
MOST_HOSTS = 256


class TaygaGateway(LinuxGateway[TaygaConfig]):
    name = "tayga"
    summary = "Tayga, stateless in user space: SIIT, and NAT46 without connections"

    def __init__(
        self, config: TaygaConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        translation = addresses.translation
        assert translation is not None
        for mapping in translation.mappings:
            if mapping.ipv4.num_addresses > MOST_HOSTS:
                raise PlanError(
                    f"tayga has a line of configuration for each host, and {mapping.ipv4} are "
                    f"{mapping.ipv4.num_addresses}: give mappings of at most {MOST_HOSTS} addresses, or use "
                    "`addresses: single`"
                )
        pairs = [pair for mapping in translation.mappings for pair in zip(mapping.ipv4, mapping.ipv6, strict=True)]
        self._tayga = TaygaProcess(
            transport,
            translation,
            [f"map {ipv4} {ipv6}" for ipv4, ipv6 in pairs],
            [mapping.ipv4 for mapping in translation.mappings],
            config.core,
        )

    def install(self) -> None:
        self._tayga.start()

    def uninstall(self) -> None:
        self._tayga.stop()

    def version(self) -> str:
        return f"{self._tayga.version()}, {self.kernel()}"

    def configuration(self) -> str:
        return f"{self._tayga.configuration}\n{self.routes()}"
