# SPDX-License-Identifier: Apache-2.0
"""Reaches DUTs that natxy does not make: by ssh, in a network namespace, or this machine itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway, InterfacePair
from natxy.dut.linux.card_settings import cards_set
from natxy.dut.linux.counting import CountWatch, CountWatches
from natxy.dut.linux.hardware import describe_hardware
from natxy.dut.linux.load import LoadWatch, MachineLoadWatches, ReadingCost
from natxy.dut.networks import check_free, other_uses
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.machines import DutLocation, LinkSetUp
from natxy.system.core_watch import Absence, StealWatch, longest
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.base import Testbed
from natxy.testbeds.gateway_watch import GatewayWatch


class CabledTestbed(Testbed):
    """A testbed with a DUT on real interfaces, or with several in a row.

    Its `gateway_cores` are the cores in service of DUTs behind ssh, by the numbers that all of them have; a DUT on this
    machine has none of its own. `further`: interfaces of further pairs, of a single DUT.
    """

    def __init__(self, duts: Sequence[DutLocation], further: tuple[InterfacePair, ...] = ()) -> None:
        super().__init__()
        self._duts = tuple(duts)
        self._machine = MachineSysctls()
        self._boxes = tuple(
            registry.Box(
                dut_transport(dut, self._machine), DutInterfaces(left=dut.left, right=dut.right, further=further)
            )
            for dut in duts
        )
        self._reading_cost: ReadingCost | None = None

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        self._take_ends()
        cores = []
        for transport in self._ssh_transports:
            self._stack.enter_context(transport)
            self._stack.callback(transport.hot_plug.give_back)
            cores.append(transport.hot_plug.cores())
        if len(cores) == len(self._duts):
            self.gateway_cores = sorted(set(cores[0]).intersection(*cores[1:]))
        for dut, box in zip(self._duts, self._boxes, strict=True):
            if dut.cards:
                assert isinstance(box.transport, LocalTransport | SshTransport)
                self._stack.enter_context(cards_set(box.transport, box.interfaces, dut.cards))

    @property
    def _ssh_transports(self) -> list[SshTransport]:
        return [box.transport for box in self._boxes if isinstance(box.transport, SshTransport)]

    @abstractmethod
    def _take_ends(self) -> None:
        """Prepares the ports or hosts at the ends of the DUT's links."""

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        (dut,), (box,) = self._duts, self._boxes
        self._check_free(dut, box, addresses)
        return registry.create(config, box.transport, box.interfaces, addresses)

    def create_path(self, path: GatewayPath) -> Gateway[Any]:
        if len(path.hops) == 1:
            return super().create_path(path)
        for dut, box, hop in zip(self._duts, self._boxes, path.hops, strict=True):
            self._check_free(dut, box, hop.addresses)
        return registry.create_chain(path, self._boxes)

    @staticmethod
    def _check_free(dut: DutLocation, box: registry.Box, addresses: AddressPlan) -> None:
        if not dut.may_be_elsewhere:
            sets_links = dut.addresses == LinkSetUp.SET
            check_free(box.transport, other_uses(box.transport, box.interfaces, sets_links=sets_links), addresses)

    def watch(self) -> GatewayWatch | None:
        if not self.gateway_cores:
            return None
        each = [LoadWatch(box.transport, box.interfaces) for box in self._boxes]
        spent = MachineLoadWatches(each)
        self._reading_cost = spent.cost()
        cores = [StealWatch(self.gateway_cores, one.stat) for one in each]

        def begin() -> None:
            spent.begin()
            for one in cores:
                one.begin()

        def end() -> Absence | None:
            spent.end()
            return longest(one.end() for one in cores)

        return GatewayWatch(begin, end, len(self.gateway_cores), buffer_frames=None, load=spent.load)

    def counting(self) -> CountWatches | None:
        if any(dut.may_be_elsewhere for dut in self._duts):
            return None
        return CountWatches([CountWatch(box.transport, box.interfaces) for box in self._boxes])

    def _cost_description(self) -> dict[str, str]:
        return {"readings of the DUT's load": self._reading_cost.text()} if self._reading_cost else {}

    def dut_description(self) -> dict[str, str]:
        machines = [
            f"{box.transport.describe()}, interfaces {' and '.join(box.interfaces.names)}" for box in self._boxes
        ]
        return {
            "machine" if len(machines) == 1 else "machines": "; ".join(machines),
            "cores": ", ".join(map(str, self.gateway_cores)) or "unknown: set by the DUT itself",
        }

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        # Commands for a DUT elsewhere run on this machine, which is another one.
        if any(dut.may_be_elsewhere for dut in self._duts):
            return ()
        return [describe_hardware(box.transport, box.interfaces) for box in self._boxes]


def dut_transport(location: DutLocation, machine: MachineSysctls) -> LocalTransport | SshTransport:
    """Returns the transport that runs commands on the DUT; one by ssh is not yet connected."""
    if location.ssh:
        return SshTransport(location.ssh)
    return NetnsTransport(location.namespace, machine, own=False) if location.namespace else LocalTransport(machine)
