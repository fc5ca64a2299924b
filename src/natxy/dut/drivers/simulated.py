# SPDX-License-Identifier: Apache-2.0
"""The simulated gateway as a driver: the model that a simulated engine sends to, behind the usual verbs."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.dut.base import Capability, DutDescription, Gateway
from natxy.engine.simulation.engine import SimulatedDut
from natxy.errors import DutError
from natxy.plan.gateways import SimulatedConfig


class SimulatedGateway(Gateway[SimulatedConfig]):
    name = "simulated"
    summary = "a gateway in virtual time with known limits"
    capabilities = frozenset({Capability.CLEAR, Capability.COUNT, Capability.SET_CORES})

    def __init__(self, dut: SimulatedDut) -> None:
        # No machine, hence no transport, interfaces or addresses.
        self.config = dut.config
        self._dut = dut

    def apply(self) -> None:
        """The model is always there; one that had collapsed is as new."""
        self._dut.restart()

    def restart(self) -> None:
        self._dut.restart()

    def remove(self) -> None:
        """Nothing was set up."""

    def describe(self) -> DutDescription:
        settings = {name: str(value) for name, value in self.config.model_dump(exclude={"driver"}).items()}
        return DutDescription(name=self.name, version="virtual time", settings=settings, configuration="")

    def clear(self) -> None:
        if self._dut.table.collapsed:
            raise DutError("the simulated gateway has collapsed and does not answer; restart it")
        self._dut.table.clear()

    def timed_clear(self) -> float:
        """In virtual time."""
        taken_s = self.config.clear_time + self.count() / self.config.tear_down_rate
        self.clear()
        return taken_s

    def set_cores(self, cores: Sequence[int]) -> None:
        self._dut.cores = len(cores)

    def count(self) -> int:
        return self._dut.table.connections
