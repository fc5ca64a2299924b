# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `hardware`: the tester's own ports, cabled to a DUT."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from natxy.plan.testbeds.base import CabledTester
from natxy.plan.testbeds.machines import DutLocation
from natxy.plan.testbeds.ports import EnginePorts, TesterPort


class HardwareConfig(CabledTester):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: TesterPort
    right: TesterPort
    dut: DutLocation

    @model_validator(mode="after")
    def _two_ports(self) -> HardwareConfig:
        if self.left == self.right:
            raise ValueError("left and right are the same port; the tester needs two ports")
        return self

    @property
    def dut_location(self) -> DutLocation:
        return self.dut

    @property
    def engine_ports(self) -> EnginePorts:
        ends = self.left, self.right
        return EnginePorts("cable", self.io, self.queues, self.tester_cores, *ends, self.memory_channels)
