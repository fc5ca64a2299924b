# SPDX-License-Identifier: Apache-2.0
"""The driver for a loop, in which the tester's ports are joined and no gateway exists."""

from __future__ import annotations

from natxy.dut.base import DutDescription, Gateway
from natxy.plan.gateways.base import GatewayModel


class Wire(Gateway[GatewayModel]):
    """Does nothing: the testbed joins the ports."""

    name = "wire"
    summary = "no gateway: the tester's ports joined to each other, on a testbed of `kind: loop`"
    position = 203

    def __init__(self, config: GatewayModel) -> None:
        # There is no machine to run commands on.
        self.config = config

    def apply(self) -> None:
        """Does nothing: the testbed has joined the ports."""

    def remove(self) -> None:
        """Does nothing: nothing was set up."""

    def describe(self) -> DutDescription:
        return DutDescription(name=self.name, version="none", settings={}, configuration="")
