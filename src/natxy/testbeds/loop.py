# SPDX-License-Identifier: Apache-2.0
"""The testbed `loop`: the tester's two ports joined to each other, without a DUT."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any, Final

from natxy.dut.base import Gateway
from natxy.dut.drivers.wire import Wire
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortSpec
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import USUAL_MTU, AddressPlan
from natxy.plan.model.units import counted
from natxy.plan.testbeds.cores import CoreAssignment
from natxy.plan.testbeds.loop import LoopConfig
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from natxy.system.temporary_folder import temporary_folder
from natxy.testbeds.base import EngineTestbed
from natxy.testbeds.namespaces import LabNamespaces
from natxy.testbeds.testers.ports import TesterPorts
from natxy.testbeds.veth import SILENT_SYSCTLS, TESTER_MACS, VethEnd, join, veth_device

_MEDIA: Final = {
    "veth": "the two ends of a veth pair in a network namespace",
    "memif": "shared memory, by DPDK's memif",
    "cable": "a cable",
}
# The port that is opened first makes the socket that the other one connects to.
_MEMIF_ROLES: Final = {Side.LEFT: "server", Side.RIGHT: "client"}


class LoopTestbed(EngineTestbed):
    """A loop; a process has one at a time."""

    def __init__(self, config: LoopConfig, mtu: int = USUAL_MTU) -> None:
        super().__init__()
        self._config = config
        self._mtu = mtu
        self._machine = MachineSysctls()
        self._namespaces = LabNamespaces(Owner.current())
        self._folder = Path()
        self._cabled: TesterPorts | None = None
        if config.left and config.right:
            ports = {Side.LEFT: config.left, Side.RIGHT: config.right}
            here = LocalTransport(self._machine)
            self._cabled = TesterPorts(ports, here, io=config.io, queues=config.queues, mtu=mtu)
        self.cores: CoreAssignment = config.assign_cores(os.sched_getaffinity(0))

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        if self._cabled:
            self._stack.enter_context(self._cabled.taken())
        elif self._config.medium == "veth":
            self._stack.callback(self._namespaces.remove)
            self._join()
        else:
            self._folder = self._stack.enter_context(temporary_folder("natxy-memif-"))

    def engine_argv(self) -> list[str]:
        engine = [*super().engine_argv(), *self._config.engine_ports.engine_arguments]
        if self._config.medium == "veth":
            return ["ip", "netns", "exec", self._namespaces.tester, *engine]
        return engine

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        return Wire(config)

    def port_specs(self) -> list[PortSpec]:
        """Returns ports of the medium `loop`: the tester itself is to blame for frames that a port does not take."""
        if self._cabled:
            return self._cabled.specs(PortMedium.LOOP)
        return [
            PortSpec(
                side=side,
                device=self._device(number, side),
                medium=PortMedium.LOOP,
                mac=TESTER_MACS[side],
                queues=self._config.queues,
                mtu=self._mtu,
            )
            for number, side in enumerate(Side)
        ]

    def description(self) -> dict[str, str]:
        ports = self._cabled.description() if self._cabled else {}
        io = "memif" if self._config.medium == "memif" else self._config.io
        return {
            "testbed": f"loop: the tester's ports joined by {_MEDIA[self._config.medium]}; no DUT",
            "kernel": f"{platform.system()} {platform.release()}",
            **self.cores.description(),
            "i/o": f"net_{io}, {counted(self._config.queues, 'queue')} a port",
            **self._config.engine_ports.memory_description(),
        } | ports

    def _join(self) -> None:
        self._namespaces.add(self._namespaces.tester)
        tester = NetnsTransport(self._namespaces.tester, self._machine)
        tester.run(["sysctl", "-qw", *(f"{name}={value}" for name, value in SILENT_SYSCTLS.items())])
        left, right = (VethEnd(tester, side.value, TESTER_MACS[side]) for side in Side)
        join(left, right, queues=self._config.queues, mtu=self._mtu)

    def _device(self, number: int, side: Side) -> str:
        if self._config.medium == "memif":
            socket = self._folder / "memif.sock"
            return f"net_memif{number},role={_MEMIF_ROLES[side]},id=0,socket={socket},socket-abstract=no"
        return veth_device(number, side.value, self._config.io, self._config.queues, self._mtu)
