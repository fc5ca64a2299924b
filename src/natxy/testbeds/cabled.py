# SPDX-License-Identifier: Apache-2.0
"""Reaches a DUT that natxy does not make: by ssh, in a network namespace, or this machine itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway, InterfacePair
from natxy.dut.linux.card_settings import cards_set
from natxy.dut.linux.counting import CountWatch, CountWatches
from natxy.dut.linux.hardware import describe_hardware
from natxy.dut.linux.load import LoadWatch, ReadingCost
from natxy.dut.networks import check_free, other_uses
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.testbeds.machines import DutLocation, LinkSetUp
from natxy.system.core_watch import Absence, StealWatch
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.base import Testbed
from natxy.testbeds.gateway_watch import GatewayWatch


class CabledTestbed(Testbed):
    """A testbed with a DUT on real interfaces. Its `gateway_cores` are the cores in service of a DUT behind ssh; a DUT
    on this machine has none of its own."""

    def __init__(self, dut: DutLocation, further: tuple[InterfacePair, ...] = ()) -> None:
        super().__init__()
        self._dut = dut
        self._machine = MachineSysctls()
        self.transport = dut_transport(dut, self._machine)
        self.interfaces = DutInterfaces(left=dut.left, right=dut.right, further=further)
        self._reading_cost: ReadingCost | None = None

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        self._take_ends()
        if isinstance(self.transport, SshTransport):
            self._stack.enter_context(self.transport)
            self._stack.callback(self.transport.hot_plug.give_back)
            self.gateway_cores = self.transport.hot_plug.cores()
        if self._dut.cards:
            self._stack.enter_context(cards_set(self.transport, self.interfaces, self._dut.cards))

    @abstractmethod
    def _take_ends(self) -> None:
        """Prepares the ports or hosts at the ends of the DUT's links."""

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        if not self._dut.may_be_elsewhere:
            sets_links = self._dut.addresses == LinkSetUp.SET
            check_free(self.transport, other_uses(self.transport, self.interfaces, sets_links=sets_links), addresses)
        return registry.create(config, self.transport, self.interfaces, addresses)

    def watch(self) -> GatewayWatch | None:
        if not isinstance(self.transport, SshTransport) or not self.gateway_cores:
            return None
        spent = LoadWatch(self.transport, self.interfaces)
        self._reading_cost = spent.cost()
        cores = StealWatch(self.gateway_cores, spent.stat)

        def begin() -> None:
            spent.begin()
            cores.begin()

        def end() -> Absence | None:
            spent.end()
            return cores.end()

        return GatewayWatch(begin, end, len(self.gateway_cores), buffer_frames=None, load=spent.load)

    def counting(self) -> CountWatches | None:
        return None if self._dut.may_be_elsewhere else CountWatches([CountWatch(self.transport, self.interfaces)])

    def _cost_description(self) -> dict[str, str]:
        return {"readings of the DUT's load": self._reading_cost.text()} if self._reading_cost else {}

    def dut_description(self) -> dict[str, str]:
        return {
            "machine": f"{self.transport.describe()}, interfaces {' and '.join(self.interfaces.names)}",
            "cores": ", ".join(map(str, self.gateway_cores)) or "unknown: set by the DUT itself",
        }

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        # Commands for a DUT elsewhere run on this machine, which is another one.
        return () if self._dut.may_be_elsewhere else [describe_hardware(self.transport, self.interfaces)]


def dut_transport(location: DutLocation, machine: MachineSysctls) -> LocalTransport | SshTransport:
    """Returns the transport that runs commands on the DUT; one by ssh is not yet connected."""
    if location.ssh:
        return SshTransport(location.ssh)
    return NetnsTransport(location.namespace, machine, own=False) if location.namespace else LocalTransport(machine)
