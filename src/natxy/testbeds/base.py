# SPDX-License-Identifier: Apache-2.0
"""Defines a testbed: it is built and removed, and creates the gateway and the tester at the ends of its links."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from natxy.dut.base import Gateway
from natxy.dut.linux.counting import CountWatches
from natxy.engine.client import EngineClient
from natxy.engine.interface import Engine
from natxy.engine.messages.ports import PortsOpen, PortSpec
from natxy.engine.program import find_engine
from natxy.plan.caveats import Caveat
from natxy.plan.gateways import GatewayConfig
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.cores import CoreAssignment
from natxy.system.interrupts import interrupts_held_back
from natxy.system.ledger import Ledger
from natxy.system.programs import owned_programs
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.testbeds.gateway_watch import GatewayWatch


class Testbed(ABC):
    """A context manager that builds a testbed and removes everything again, in reverse order, also after an error.

    Entering raises DutError when the testbed cannot be built, and PlanError when the plan asks for something that this
    machine does not have. Descriptions are valid once the testbed is built; caveats before that too, but for those
    of hosts behind ssh.
    """

    gateway_cores: Sequence[int] = ()
    """The cores that frames can be steered to, by their numbers on the DUT; none when the testbed cannot choose."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        """Holds what removes the testbed; each step of `_build` adds to it before it changes anything."""

    @abstractmethod
    def _build(self) -> None: ...

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        with interrupts_held_back():
            self._stack.close()

    @property
    def tester_cores(self) -> tuple[int, ...]:
        """Returns the cores of this machine that must do nothing but measure."""
        return ()

    @abstractmethod
    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        """Returns the gateway's driver; nothing is set up yet. Raises PlanError when the driver does not run here."""

    def create_path(self, path: GatewayPath) -> Gateway[Any]:
        """Returns the driver of all gateways of a path, as `create_gateway` does that of one."""
        (hop,) = path.hops
        return self.create_gateway(hop.gateway, hop.addresses)

    def renew(self) -> None:
        """Makes a testbed ready for another gateway, on a testbed that outlives its gateways.

        Raises DutError when it no longer works.
        """
        raise AssertionError("this kind of testbed is built for each gateway")

    def engine(self, log: Path) -> AbstractContextManager[Engine]:
        """Returns the engine with its ports open for as long as the context lasts; its stderr goes to `log`."""
        raise AssertionError("the plan's checks refuse procedures that need an engine here")

    def hosts(self, addresses: Addresses, foreground: Foreground) -> AbstractContextManager[TcpHosts]:
        """Returns hosts with these addresses at the ends of the DUT's links for as long as the context lasts; no
        engine may have its ports open meanwhile. Programs that measure start within `foreground`."""
        raise AssertionError("the plan's checks refuse procedures that need hosts here")

    def watch(self) -> GatewayWatch | None:
        """Returns what watches the gateway's cores; None when they are unknown.

        The gateway has to be set up before.
        """
        return None

    def counting(self) -> CountWatches | None:
        """Returns what reads the DUT's counters around a trial; None where the DUT is no Linux that can be asked."""
        return None

    def sleep(self, seconds: float) -> None:
        """Waits in the testbed's time."""
        time.sleep(seconds)

    @abstractmethod
    def description(self) -> dict[str, str]:
        """Returns the facts about the testbed for the report."""

    def engine_description(self) -> dict[str, str]:
        """Returns further facts for the report when the engine measured."""
        return {}

    def dut_description(self) -> dict[str, str]:
        """Returns facts about the DUT's machine, which may differ between the gateways of a run."""
        return {}

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        """Returns for each gateway what the DUT tells about its machine and the cards of the gateway's interfaces;
        nothing where the DUT is no machine of its own that could tell it."""
        return ()

    def caveats(self) -> list[Caveat]:
        """Returns what limits results of this testbed, and rules of natxy's own that hold on it."""
        return []

    def engine_caveats(self) -> list[Caveat]:
        """Returns further caveats of results that the engine measured."""
        return []

    def host_caveats(self) -> list[Caveat]:
        """Returns further caveats of results that the hosts measured."""
        return []


class EngineTestbed(Testbed):
    """A testbed whose frames come from natxy-engine on this machine; `cores` says which cores it uses."""

    cores: CoreAssignment

    def __enter__(self) -> Self:
        self._stack.enter_context(owned_programs(Ledger()))
        return super().__enter__()

    @property
    def tester_cores(self) -> tuple[int, ...]:
        return self.cores.tester

    def engine_argv(self) -> list[str]:
        """Returns the command that starts natxy-engine on its own cores and where it finds its ports."""
        workers = ",".join(map(str, self.cores.tester))
        return [str(find_engine()), "--worker-cores", workers, "--main-core", str(self.cores.main)]

    @abstractmethod
    def port_specs(self) -> list[PortSpec]: ...

    def _start_engine(self, log: Path) -> Engine:
        return EngineClient(self.engine_argv(), log)

    @contextmanager
    def engine(self, log: Path) -> Iterator[Engine]:
        engine = self._start_engine(log)
        try:
            # To measure a core that the tester uses too would disturb the tester.
            dut_cores = [core for core in self.cores.dut if core not in self.cores.tester]
            ports = [port.on_cores(self.cores.tasks) for port in self.port_specs()]
            engine.open_ports(PortsOpen(ports=ports, dut_cores=dut_cores))
            yield engine
        finally:
            engine.close()
