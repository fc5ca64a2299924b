# SPDX-License-Identifier: Apache-2.0
"""Maps each kind of testbed in a plan to the code that makes it. A new kind adds a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.base import TestbedModel
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.base import Testbed
from natxy.testbeds.hardware import HardwareTestbed
from natxy.testbeds.lab_kernels import lab_for
from natxy.testbeds.loop import LoopTestbed
from natxy.testbeds.memif import MemifTestbed
from natxy.testbeds.remote_hosts import HostsTestbed
from natxy.testbeds.simulated import SimulatedTestbed
from natxy.testbeds.vm.lab import VmLab


@dataclass(frozen=True)
class TestbedNeeds:
    """Holds what a plan and an experiment need of a testbed.

    `dut_cores`: the most cores that an experiment of the plan gives its gateway.
    """

    path: GatewayPath
    dut_cores: int
    seed: int

    @property
    def addresses(self) -> AddressPlan:
        """The addresses of the tester's links."""
        return self.path.ends

    @property
    def gateway(self) -> GatewayConfig:
        """The gateway, where there is one."""
        (hop,) = self.path.hops
        return hop.gateway


TESTBEDS: Final[Mapping[type[TestbedModel], Callable[[Any, TestbedNeeds], Testbed]]] = {
    LabConfig: lambda config, needs: lab_for(config, needs.path, needs.dut_cores),
    HardwareConfig: lambda config, needs: HardwareTestbed(
        config, needs.addresses.mtu, 1 + len(needs.addresses.further)
    ),
    HostsConfig: lambda config, needs: HostsTestbed(config, needs.addresses.mtu),
    LoopConfig: lambda config, needs: LoopTestbed(config, needs.addresses.mtu),
    MemifConfig: lambda config, needs: MemifTestbed(config, needs.addresses.mtu),
    SimulatedTestbedConfig: lambda config, needs: SimulatedTestbed(config, needs.gateway, needs.seed),
    VmConfig: lambda config, needs: VmLab(config, needs.addresses, needs.dut_cores),
}


def create_testbed(config: TestbedConfig, needs: TestbedNeeds) -> Testbed:
    """Returns the testbed, not yet built. Raises PlanError when this machine lacks what it needs."""
    return TESTBEDS[type(config)](config, needs)
