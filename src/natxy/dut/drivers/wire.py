# SPDX-License-Identifier: Apache-2.0
"""The tester's ports joined to each other, in the place of a gateway."""

from __future__ import annotations

from natxy.dut.base import DutDescription, Gateway
from natxy.plan.gateways import WireConfig


class Wire(Gateway[WireConfig]):
    name = "wire"
    summary = "no gateway: the tester's ports joined to each other, on a testbed of `kind: loop`"

    def __init__(self, config: WireConfig) -> None:
        # Nothing to run a command on.
        self.config = config

    def apply(self) -> None:
        """The testbed has joined the ports."""

    def remove(self) -> None:
        """Nothing was set up."""

    def describe(self) -> DutDescription:
        return DutDescription(name=self.name, version="none", settings={}, configuration="")
