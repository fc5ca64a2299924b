# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_interface
from typing import Any

import pytest

from natxy.dut.base import Capability, DutInterfaces, Gateway
from natxy.dut.machine import MachineSysctls
from natxy.dut.registry import GATEWAYS, create
from natxy.dut.transport import LocalTransport
from natxy.errors import PlanError
from natxy.plan.addresses import AddressPlan, LinkAddresses
from natxy.plan.gateways import GatewayConfig, IptablesConfig, LinuxForwardConfig, NftablesConfig, SimulatedConfig

LINK = LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"))
ADDRESSES = AddressPlan(left=LINK, right=LINK)
INTERFACES = DutInterfaces(left="a", right="b")


@pytest.mark.parametrize("config", [LinuxForwardConfig(), NftablesConfig(), IptablesConfig()])
def test_driver_by_the_word_of_the_plan(config: GatewayConfig) -> None:
    gateway = create(config, LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)
    assert gateway.name == config.driver
    assert gateway.config is config


def test_driver_that_needs_no_testbed() -> None:
    with pytest.raises(PlanError, match="no gateway driver 'simulated' runs on a testbed; there are iptables, "):
        create(SimulatedConfig(), LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)


@pytest.mark.parametrize("driver", GATEWAYS.values())
def test_stateful_drivers_can_clear_their_table(driver: type[Gateway[Any]]) -> None:
    assert (Capability.CLEAR in driver.capabilities) == driver.stateful
    assert driver.summary
