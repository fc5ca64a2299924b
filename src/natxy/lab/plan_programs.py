# SPDX-License-Identifier: Apache-2.0
"""Which of the programs that a plan's gateways and hosts run are not on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.lab.guest_files import find_guest
from natxy.lab.kernels import runs_in_guest
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.gateways import GatewayConfig
from natxy.plan.hardware import HardwareConfig, HostsConfig
from natxy.plan.loop import LoopConfig
from natxy.plan.models import SimulatedTestbedConfig


def looks_here(plan: ResolvedPlan) -> bool:
    """The gateways run on this machine, so that it can be known beforehand whether they can."""
    match plan.testbed:
        case HardwareConfig(dut=dut) | HostsConfig(dut=dut):
            return dut.ssh is None
        case testbed:
            return not isinstance(testbed, LoopConfig | SimulatedTestbedConfig)


def missing_programs(plan: ResolvedPlan) -> list[str]:
    """`jool: ...`, a line for each gateway that cannot run here, with what to do about it."""
    if not looks_here(plan):
        return []
    lines: dict[str, None] = {}
    for experiment in plan.experiments:
        gateway = experiment.gateway
        lines |= dict.fromkeys(f"{gateway.driver}: {reason}" for reason in _why_not(gateway))
        here = not isinstance(plan.testbed, HostsConfig)
        if experiment.procedure.between_hosts and here and not shutil.which("iperf3"):
            lines[f"{experiment.procedure.name}: iperf3 is not installed: apt install iperf3"] = None
    return [*lines]


def _why_not(gateway: GatewayConfig) -> Iterator[str]:
    try:
        if runs_in_guest(gateway):
            find_guest()
            return
    except PlanError as error:
        yield str(error)
        return
    for program, remedy in GATEWAYS[gateway.driver].programs(gateway).items():
        if not shutil.which(program):
            yield f"{program} is not installed: {remedy}"
