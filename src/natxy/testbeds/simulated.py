# SPDX-License-Identifier: Apache-2.0
"""The testbed `simulated`: models of a tester and a gateway in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from natxy.dut.base import Gateway
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.interface import Engine
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.results.dut_load import DutLoad, InstructionCount
from natxy.system.core_watch import Absence
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.tcp.simulated import SimulatedHosts
from natxy.testbeds.base import Testbed
from natxy.testbeds.gateway_watch import GatewayWatch


class SimulatedLoad:
    """Tells what the simulated gateway has executed between two moments."""

    def __init__(self, dut: SimulatedDut) -> None:
        self._dut = dut
        self.begin()

    def begin(self) -> None:
        self._before_s, self._before = self._dut.elapsed_s, self._dut.instructions

    def end(self) -> None:
        """Does nothing: the model stands still between trials."""

    def load(self) -> DutLoad:
        elapsed_s = self._dut.elapsed_s - self._before_s
        executed = InstructionCount(count=round(self._dut.instructions - self._before), elapsed_s=elapsed_s)
        return DutLoad(elapsed_s=elapsed_s, cores=(), instructions=executed)


class SimulatedTestbed(Testbed):
    def __init__(self, config: SimulatedTestbedConfig, gateway: GatewayConfig, seed: int) -> None:
        super().__init__()
        (hop,) = gateway.hops
        assert isinstance(hop, SimulatedConfig)
        self._tester_limit_fps = config.tester_limit
        self.gateway_cores = range(config.dut_cores)
        self._dut = SimulatedDut(hop, config.noise, seed)

    def _build(self) -> None:
        """A model needs nothing to be built."""

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        return SimulatedGateway(self._dut)

    @contextmanager
    def engine(self, log: Path) -> Iterator[Engine]:
        yield SimulatedEngine(self._dut, self._tester_limit_fps)

    @contextmanager
    def hosts(self, addresses: Addresses, foreground: Foreground) -> Iterator[TcpHosts]:
        yield SimulatedHosts(self._dut)

    def watch(self) -> GatewayWatch:
        dut = self._dut
        spent = SimulatedLoad(dut) if dut.config.frame_instructions else None
        # A stall takes all cores away at once, as if they were one.
        watch = GatewayWatch(lambda: None, self._absence, cores=1, buffer_frames=dut.config.buffer_frames)
        return watch.with_load(spent) if spent else watch

    def _absence(self) -> Absence | None:
        return None if self._dut.stalled_s is None else Absence(self._dut.stalled_s)

    def sleep(self, seconds: float) -> None:
        """Takes no time."""

    def description(self) -> dict[str, str]:
        return {"testbed": "simulated: a model of a gateway in virtual time"}

    def caveats(self) -> list[Caveat]:
        return [limitation("Engine and gateway are models in virtual time: nothing real is measured.")]
