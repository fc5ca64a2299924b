# SPDX-License-Identifier: Apache-2.0
"""A testbed without a gateway: the tester's two ports joined to each other, to find out what the tester can do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel
from natxy.plan.testbeds.ports import Core, TesterPort


class LoopConfig(PlanModel):
    """`veth`: the ends of a veth pair, as the ports of a lab are. `memif`: shared memory, no kernel in between.
    `cable`: the tester's own ports with a cable from one to the other."""

    kind: Literal["loop"]
    medium: Literal["veth", "memif", "cable"] = "veth"
    left: TesterPort | None = Field(default=None, description="of a cable")
    right: TesterPort | None = Field(default=None, description="of a cable")
    io: Literal["af_xdp", "af_packet"] = Field(default="af_xdp", description="for interfaces of the kernel")
    queues: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="of a port")
    tester_cores: Annotated[list[Core], Field(min_length=1)] | None = Field(
        default=None, description="cores of the engine's workers; automatic: core 0"
    )

    @model_validator(mode="after")
    def _ports_of_a_cable(self) -> LoopConfig:
        given = self.left is not None, self.right is not None
        if given != ((True, True) if self.medium == "cable" else (False, False)):
            raise ValueError("left and right are the two ports that a cable joins: give both with `medium: cable` only")
        if self.left is not None and self.left == self.right:
            raise ValueError("left and right are one port; a cable has two ends")
        return self
