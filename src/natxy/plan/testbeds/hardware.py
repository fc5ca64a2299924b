# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `hardware`: the tester's own ports, cabled to a DUT."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from natxy.plan.model.addresses import Mac
from natxy.plan.testbeds.base import CabledTester
from natxy.plan.testbeds.machines import DutLocation
from natxy.plan.testbeds.ports import EnginePorts, TesterPort, check_macs


class CabledPort(TesterPort):
    """Names a port of the tester's. Frames go to `dut_mac`; without it, the DUT is asked for its address."""

    dut_mac: Mac | None = None


class HardwareConfig(CabledTester):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: CabledPort
    right: CabledPort
    dut: DutLocation

    @model_validator(mode="after")
    def _two_ports(self) -> HardwareConfig:
        is_trunk = self.left.is_same(self.right)
        if is_trunk and (None in (self.left.vlan, self.right.vlan) or self.left.vlan == self.right.vlan):
            raise ValueError(
                "left and right are the same port; the tester needs two ports, or one with a `vlan` for each side"
            )
        left, right = ("left.mac", self.left.mac), ("right.mac", self.right.mac)
        of_dut = ("left.dut_mac", self.left.dut_mac), ("right.dut_mac", self.right.dut_mac)
        check_macs(left, *([] if is_trunk else [right]), *of_dut)
        check_macs(right, *of_dut)
        return self

    @property
    def dut_location(self) -> DutLocation:
        return self.dut

    @property
    def dut_macs(self) -> dict[str, str]:
        ends = {"left": self.left.dut_mac, "right": self.right.dut_mac}
        return {side: mac for side, mac in ends.items() if mac}

    @property
    def engine_ports(self) -> EnginePorts:
        ends = self.left, self.right
        return EnginePorts("cable", self.io, self.queues, self.tester_cores, *ends, self.memory_channels)
