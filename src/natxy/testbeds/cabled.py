# SPDX-License-Identifier: Apache-2.0
"""A testbed of real machines, and its DUT: reached by ssh, in a network namespace, or this machine itself."""

from __future__ import annotations

from abc import abstractmethod

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.plan.testbeds.machines import DutLocation
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.built import BuiltTestbed


class CabledTestbed(BuiltTestbed):
    """Within it the DUT can be reached. `gateway_cores`: those of the DUT in service, none where they are not its
    alone."""

    def __init__(self, dut: DutLocation) -> None:
        super().__init__()
        self._machine = MachineSysctls()
        self.transport = dut_transport(dut, self._machine)
        self.interfaces = DutInterfaces(left=dut.left, right=dut.right)
        self.gateway_cores: tuple[int, ...] = ()

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        self._take_ends()
        if isinstance(self.transport, SshTransport):
            self._stack.enter_context(self.transport)
            # What a killed run changed, and what it took out of service.
            self.transport.machine.release_all()
            self.transport.hot_plug.give_back()
            self._stack.callback(self.transport.hot_plug.give_back)
            self.gateway_cores = self.transport.hot_plug.cores()

    @abstractmethod
    def _take_ends(self) -> None:
        """Makes ready what is at the ends of the DUT's links."""

    def dut_description(self) -> dict[str, str]:
        return {
            "machine": f"{self.transport.describe()}, interfaces {self.interfaces.left} and {self.interfaces.right}",
            "cores": ", ".join(map(str, self.gateway_cores)) or "unknown: set by the DUT itself",
        }


def dut_transport(location: DutLocation, machine: MachineSysctls) -> Transport:
    if location.ssh:
        return SshTransport(location.ssh)
    return NetnsTransport(location.namespace, machine) if location.namespace else LocalTransport(machine)
