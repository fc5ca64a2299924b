# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `hosts`: two hosts that replace the tester, cabled to a DUT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import model_validator

from natxy.plan.testbeds.base import TestbedModel
from natxy.plan.testbeds.machines import DutLocation, HostLocation


class HostsConfig(TestbedModel):
    """Two hosts, cabled to a DUT, for procedures between hosts; the tester has no ports of its own."""

    kind: Literal["hosts"]
    left: HostLocation
    """Host and its interface."""
    right: HostLocation
    """Host and its interface."""
    dut: DutLocation
    """DUT and its interfaces."""

    has_ports: ClassVar[bool] = False

    @model_validator(mode="after")
    def _two_hosts(self) -> HostsConfig:
        if self.left.ssh.is_machine_of(self.right.ssh):
            raise ValueError(
                "left and right are the same machine, whose kernel would not send through the DUT; give two"
            )
        for side, host in self.remote_hosts.items():
            if self.dut.ssh and host.ssh.is_machine_of(self.dut.ssh):
                raise ValueError(f"{side} and dut are the same machine; give another host, cabled to the DUT")
        return self

    @property
    def is_local(self) -> bool:
        return self.dut.ssh is None

    @property
    def dut_location(self) -> DutLocation:
        return self.dut

    @property
    def remote_hosts(self) -> Mapping[str, HostLocation]:
        return {"left": self.left, "right": self.right}
