# SPDX-License-Identifier: Apache-2.0
"""A testbed of two hosts and a DUT, for procedures between hosts."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from natxy.plan.model.base import PlanModel
from natxy.plan.testbeds.machines import DutLocation, SshTarget
from natxy.plan.testbeds.ports import InterfaceName


class HostLocation(PlanModel):
    """A host that is reached by ssh, and its interface on the cable to the DUT."""

    ssh: SshTarget
    interface: InterfaceName


class HostsConfig(PlanModel):
    """Two hosts, cabled to a DUT, for what is measured between hosts; the tester has no ports of its own."""

    kind: Literal["hosts"]
    left: HostLocation
    right: HostLocation
    dut: DutLocation

    @model_validator(mode="after")
    def _two_hosts(self) -> HostsConfig:
        if self.left.ssh == self.right.ssh:
            raise ValueError("left and right are one machine, whose kernel would not send through the DUT; give two")
        for side, host in (("left", self.left), ("right", self.right)):
            if host.ssh == self.dut.ssh:
                raise ValueError(f"{side} and dut are one machine; give a host of its own, cabled to the DUT")
        return self

    @property
    def is_elsewhere(self) -> bool:
        """Nothing is measured on this machine."""
        return self.dut.ssh is not None
