# SPDX-License-Identifier: Apache-2.0
"""A testbed of the tester's own ports cabled to a DUT."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel
from natxy.plan.testbeds.machines import DutLocation
from natxy.plan.testbeds.ports import Core, TesterPort


class HardwareConfig(PlanModel):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: TesterPort
    right: TesterPort
    dut: DutLocation
    io: Literal["af_xdp", "af_packet"] = Field(default="af_xdp", description="for interfaces; a pci device needs none")
    queues: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="of a port")
    tester_cores: Annotated[list[Core], Field(min_length=1)] | None = Field(
        default=None, description="cores of the engine's workers; automatic: core 0"
    )

    @model_validator(mode="after")
    def _two_ports(self) -> HardwareConfig:
        if self.left == self.right:
            raise ValueError("left and right are one port; the tester needs two")
        return self
