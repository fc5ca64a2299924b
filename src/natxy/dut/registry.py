# SPDX-License-Identifier: Apache-2.0
"""Every gateway driver by the word a plan names it with. A new driver adds its class here."""

from __future__ import annotations

from typing import Any

from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.drivers.command import CommandGateway
from natxy.dut.drivers.iptables import IptablesGateway
from natxy.dut.drivers.jool import JoolGateway
from natxy.dut.drivers.jool_siit import JoolSiitGateway
from natxy.dut.drivers.linux_forward import LinuxForwardGateway
from natxy.dut.drivers.map646 import Map646Gateway
from natxy.dut.drivers.nftables import NftablesGateway
from natxy.dut.drivers.openbsd.pf import OpenbsdPfGateway
from natxy.dut.drivers.reference import ReferenceGateway
from natxy.dut.drivers.tayga import TaygaGateway
from natxy.dut.drivers.tayga_netfilter import TaygaNetfilterGateway
from natxy.dut.transport.base import Transport
from natxy.errors import PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan

GATEWAYS: dict[str, type[Gateway[Any]]] = {
    driver.name: driver
    for driver in (
        LinuxForwardGateway,
        IptablesGateway,
        NftablesGateway,
        JoolGateway,
        JoolSiitGateway,
        TaygaGateway,
        TaygaNetfilterGateway,
        Map646Gateway,
        OpenbsdPfGateway,
        CommandGateway,
        ReferenceGateway,
    )
}


def create(
    config: GatewayConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
) -> Gateway[Any]:
    """The driver for `config`, not yet applied; PlanError when no driver has that name."""
    driver = GATEWAYS.get(config.driver)
    if driver is None:
        known = ", ".join(sorted(GATEWAYS))
        raise PlanError(f"no gateway driver {config.driver!r} runs on a testbed; there are {known}")
    return driver(config, transport, interfaces, addresses)
