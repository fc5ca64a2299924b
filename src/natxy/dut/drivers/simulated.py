# SPDX-License-Identifier: Apache-2.0
"""The driver of the simulated gateway, which a simulated engine sends to."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability, DutDescription, Gateway
from natxy.engine.simulation.dut import SimulatedDut
from natxy.errors import DutError
from natxy.plan.gateways.simulated import SimulatedConfig


class SimulatedGateway(Gateway[SimulatedConfig]):
    """Passes a driver's calls on to the model."""

    name = "simulated"
    summary = "a gateway in virtual time with known limits"
    position = 202
    capabilities = frozenset({Capability.CLEAR, Capability.COUNT, Capability.SET_CORES})

    def __init__(self, dut: SimulatedDut) -> None:
        # A model has no transport, interfaces or addresses.
        self.config = dut.config
        self._dut = dut

    def apply(self) -> None:
        """Resets the model, even one that has collapsed."""
        self._dut.restart()

    def restart(self) -> None:
        self._dut.restart()

    def remove(self) -> None:
        """Does nothing: nothing was set up."""

    def describe(self) -> DutDescription:
        settings = {
            name: str(value) for name, value in self.config.model_dump(exclude={"driver"}, exclude_none=True).items()
        }
        return DutDescription(name=self.name, version="virtual time", settings=settings, configuration="")

    def clear(self) -> None:
        if self._dut.table.collapsed:
            raise DutError("the simulated gateway has collapsed and does not answer; restart it")
        self._dut.clear()

    def timed_clear(self) -> float:
        """Clears the table. Returns the seconds that this takes in virtual time."""
        taken_s = self.config.clearing_s(self.count())
        self.clear()
        return taken_s

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        self._dut.set_unbound(without)

    def clock_s(self) -> float:
        """Returns the time since the beginning of the running trial, in virtual time."""
        return self._dut.trial_time_s

    def set_cores(self, cores: Sequence[int]) -> None:
        self._dut.cores = len(cores)

    def count(self) -> int:
        return self._dut.count()
