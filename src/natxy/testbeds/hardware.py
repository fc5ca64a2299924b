# SPDX-License-Identifier: Apache-2.0
"""The testbed `hardware`: the tester's own ports, cabled to a DUT."""

from __future__ import annotations

import os
import platform
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from natxy.dut.base import InterfacePair
from natxy.dut.linux.interfaces import disturbing_offloads
from natxy.dut.transport.local import LocalTransport
from natxy.engine.client import EngineClient
from natxy.engine.interface import Engine
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortSpec
from natxy.engine.testers import Tester, Testers
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import USUAL_MTU
from natxy.plan.testbeds.cores import CoreAssignment
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.ports import TesterPort
from natxy.system.process_owner import Owner
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.testbeds.base import EngineTestbed
from natxy.testbeds.cabled import CabledTestbed
from natxy.testbeds.host_links import hosts_in_namespaces
from natxy.testbeds.namespaces import LabNamespaces
from natxy.testbeds.testers.ports import TesterPorts
from natxy.testbeds.testers.remote import RemoteTester


class HardwareTestbed(CabledTestbed, EngineTestbed):
    """Keeps the kernel from sending on the interfaces that the tester uses."""

    def __init__(self, config: HardwareConfig, mtu: int = USUAL_MTU, pairs: int = 1) -> None:
        further = config.more_pairs[: pairs - 1]
        super().__init__(config.dut_locations, tuple(InterfacePair(pair.dut.left, pair.dut.right) for pair in further))
        self._config = config
        self._mtu = mtu
        here: dict[int, tuple[TesterPort, TesterPort]] = {0: (config.left, config.right)} | config.pairs_of(None)
        self._ports = {
            number: TesterPorts(
                dict(zip(Side, ends, strict=True)),
                LocalTransport(self._machine),
                io=config.io,
                queues=config.queues,
                mtu=mtu,
                pair=number,
            )
            for number, ends in here.items()
            if number < pairs
        }
        self._remote = [
            RemoteTester(tester, config, mtu, pairs) for tester in config.further_testers if min(tester.pairs) < pairs
        ]
        self.cores: CoreAssignment = config.assign_cores(os.sched_getaffinity(0))

    @property
    def _ends(self) -> list[TesterPorts | RemoteTester]:
        return [*self._ports.values(), *self._remote]

    def _take_ends(self) -> None:
        for end in self._ends:
            self._stack.enter_context(end.taken())

    def engine_argv(self) -> list[str]:
        return [*super().engine_argv(), *self._config.engine_ports.engine_arguments]

    def port_specs(self) -> list[PortSpec]:
        return [spec for end in self._ends for spec in end.specs()]

    def _start_engine(self, log: Path) -> Engine:
        own = EngineClient(self.engine_argv(), log)
        if not self._remote:
            return own
        with ExitStack() as started:
            started.callback(own.close)
            testers = [Tester("this machine", own, tuple(self._ports))]
            for remote in self._remote:
                testers.append(remote.start_engine(log.with_name(f"{log.stem}-{len(testers) + 1}{log.suffix}")))
                started.callback(testers[-1].engine.close)
            started.pop_all()
        return Testers(testers)

    def description(self) -> dict[str, str]:
        return {
            "testbed": "hardware: the tester's own ports, cabled to the DUT",
            "kernel": f"{platform.system()} {platform.release()} (the tester's)",
            **self.cores.description(),
            **self._cost_description(),
        }

    def engine_description(self) -> dict[str, str]:
        described = {title: text for end in self._ends for title, text in end.description().items()}
        return described | self._config.engine_ports.memory_description()

    def caveats(self) -> list[Caveat]:
        shared = "share its memory, its caches and maybe its cores."
        if all(dut.ssh for dut in self._duts):
            return []
        if any(dut.may_be_elsewhere for dut in self._duts):
            return [
                limitation(f"The DUT's commands ran on the tester's machine. If it is the DUT too, the two {shared}")
            ]
        return [limitation(f"Tester and DUT are one machine: they {shared}")]

    def engine_caveats(self) -> list[Caveat]:
        return [caveat for end in self._ends for caveat in end.caveats()]

    def hosts(self, addresses: Addresses, foreground: Foreground) -> AbstractContextManager[TcpHosts]:
        here, namespaces = LocalTransport(self._machine), LabNamespaces(Owner.current())
        ends, cores = self._ports[0].interfaces, self.cores.tester
        return hosts_in_namespaces(ends, here, namespaces, addresses, foreground, mtu=self._mtu, cores=cores)

    def host_caveats(self) -> list[Caveat]:
        sentences = [
            "Both hosts are one machine, the tester, and share its cores, so TCP itself may be what limits the goodput."
        ]
        for side, interface in self._ports[0].interfaces.items():
            if disturbing := disturbing_offloads(interface, LocalTransport(self._machine)):
                sentences.append(
                    f"The {side} host's interface {interface} has {', '.join(disturbing)} on: the card makes or "
                    "merges segments for it."
                )
        return [*map(limitation, sentences)]
