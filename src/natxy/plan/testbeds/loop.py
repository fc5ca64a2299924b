# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `loop`: the tester's two ports joined to each other, without a gateway."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from natxy.plan.testbeds.base import CabledTester
from natxy.plan.testbeds.ports import EnginePorts, Medium, TesterPort, check_macs


class LoopConfig(CabledTester):
    """The tester's ports joined to each other, to find out what the tester can do.

    `veth`: the two ends of a veth pair, as a lab's ports are. `memif`: shared memory, without the kernel. `cable`: the
    tester's own ports, with a cable from one to the other.
    """

    kind: Literal["loop"]
    medium: Medium = "veth"
    """`veth`: a veth pair; `memif`: shared memory; `cable`: the ports `left` and `right`."""
    left: TesterPort | None = None
    """Port at an end of the cable."""
    right: TesterPort | None = None
    """Port at an end of the cable."""

    has_gateway: ClassVar[bool] = False

    @model_validator(mode="after")
    def _ports_of_a_cable(self) -> LoopConfig:
        given = self.left is not None, self.right is not None
        if given != ((True, True) if self.medium == "cable" else (False, False)):
            raise ValueError(
                "left and right are the ports that a cable joins: give both with `medium: cable`, else neither"
            )
        if self.left and self.right and self.left.is_same(self.right):
            raise ValueError("left and right are the same port; a cable joins two ports")
        if self.left and self.right:
            check_macs(("left.mac", self.left.mac), ("right.mac", self.right.mac))
        return self

    @property
    def engine_ports(self) -> EnginePorts:
        ends = self.left, self.right
        return EnginePorts(self.medium, self.io, self.queues, self.tester_cores, *ends, self.memory_channels)
