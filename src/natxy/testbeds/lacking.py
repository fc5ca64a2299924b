# SPDX-License-Identifier: Apache-2.0
"""States what this machine lacks to run a gateway."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.testbeds.guest.kernel import find_guest
from natxy.testbeds.lab_kernels import runs_in_guest


def why_not(gateway: GatewayConfig) -> Iterator[str]:
    """Yields the reasons why the gateway cannot run on this machine, with remedies: `map646 is not installed: …`."""
    try:
        if runs_in_guest(gateway):
            find_guest()
    except PlanError as error:
        yield str(error)
        return
    # A guest uses this machine's programs.
    for program, remedy in GATEWAYS[gateway.driver].programs(gateway).items():
        if not shutil.which(program):
            yield f"{program} is not installed: {remedy}"
