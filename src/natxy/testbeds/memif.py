# SPDX-License-Identifier: Apache-2.0
"""The testbed `memif`: tester and reference gateway, two programs joined by shared memory, without the kernel."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any, Final

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortSpec
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import USUAL_MTU, AddressPlan
from natxy.plan.testbeds.cores import CoreAssignment, named_cores
from natxy.plan.testbeds.memif import MemifConfig
from natxy.system.core_watch import CoreWatch
from natxy.system.machine import is_virtual_machine
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.temporary_folder import temporary_folder
from natxy.testbeds.base import EngineTestbed
from natxy.testbeds.gateway_watch import GatewayWatch

# Each ring has 2 to the power of this many frames.
_RING_BITS: Final = 12


class MemifTestbed(EngineTestbed):
    """The gateway opens its ends of the sockets; then the engine connects to them."""

    def __init__(self, config: MemifConfig, mtu: int = USUAL_MTU) -> None:
        super().__init__()
        self._mtu = mtu
        self._sockets = Path()
        self.cores: CoreAssignment = config.assign_cores(os.sched_getaffinity(0))
        self.transport: Transport = LocalTransport(MachineSysctls(), self.cores.dut)

    def _build(self) -> None:
        self._sockets = self._stack.enter_context(temporary_folder("natxy-memif-"))

    @property
    def interfaces(self) -> DutInterfaces:
        left, right = (self._device(side, "server") for side in Side)
        return DutInterfaces(left, right, dpdk=True)

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        return registry.create(config, self.transport, self.interfaces, addresses)

    def port_specs(self) -> list[PortSpec]:
        return [
            PortSpec(side=side, device=self._device(side, "client"), medium=PortMedium.MEMIF, mtu=self._mtu)
            for side in Side
        ]

    def watch(self) -> GatewayWatch:
        cores = CoreWatch(self.cores.dut)
        return GatewayWatch(cores.begin, cores.end, len(self.cores.dut), 1 << _RING_BITS)

    def description(self) -> dict[str, str]:
        return {
            "testbed": "memif: tester and reference gateway, two programs joined by shared memory",
            "kernel": f"{platform.system()} {platform.release()}",
            **self.cores.description(),
        }

    def dut_description(self) -> dict[str, str]:
        return {"cores": named_cores(self.cores.dut)}

    def engine_description(self) -> dict[str, str]:
        return {"i/o": "net_memif"}

    def caveats(self) -> list[Caveat]:
        sentences = ["The gateway is natxy's own reference program: the results describe the tester alone."]
        if self.cores.shared:
            sentences.append("Tester and gateway share a core, so that neither can keep its times.")
        if is_virtual_machine():
            sentences.append("This is a virtual machine: time that its host takes away from a core shows as delay.")
        return [*map(limitation, sentences)]

    def engine_caveats(self) -> list[Caveat]:
        return [limitation("There is no medium with a line rate; a frame takes no time on the wire.")]

    def _device(self, side: Side, role: str) -> str:
        number = [*Side].index(side)
        return (
            f"net_memif{number},role={role},id={number},socket={self._sockets}/{side}.sock,socket-abstract=no,"
            f"rsize={_RING_BITS}"
        )
