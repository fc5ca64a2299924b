# SPDX-License-Identifier: Apache-2.0
"""Checks that natxy can set the sysctls that a testbed needs on this machine."""

from __future__ import annotations

from natxy.errors import DutError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.testbeds.base import TestbedModel
from natxy.system.machine_sysctls import REMEDY, is_read_only


def check_sysctls(plan: ResolvedPlan) -> None:
    """Raises DutError when the testbed needs sysctls of this machine, and /proc/sys is read-only."""
    if _sets_sysctls(plan.testbed) and is_read_only():
        raise DutError(f"/proc/sys is read-only here, as it is in most containers. {REMEDY}")


def _sets_sysctls(testbed: TestbedModel) -> bool:
    dut, ports = testbed.dut_location, testbed.engine_ports
    gateway_here = dut is not None and dut.ssh is None and not dut.may_be_elsewhere
    ports_of_kernel = ports is not None and (
        ports.medium in ("veth", "tap") or any(port.interface for port in ports.of_cables)
    )
    return gateway_here or ports_of_kernel
