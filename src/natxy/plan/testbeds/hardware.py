# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `hardware`: the tester's own ports, cabled to a DUT."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.testbeds.base import TesterMachine
from natxy.plan.testbeds.machines import DutLocation
from natxy.plan.testbeds.ports import EnginePorts, Io, TesterPort


class HardwareConfig(TesterMachine):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: TesterPort
    right: TesterPort
    dut: DutLocation
    io: Io = "af_xdp"
    """I/O driver of interfaces; a pci device needs none."""
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    """Queues of each port."""

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
        return EnginePorts("cable", self.io, self.queues, self.tester_cores, self.left, self.right)
