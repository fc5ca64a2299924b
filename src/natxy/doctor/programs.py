# SPDX-License-Identifier: Apache-2.0
"""Which of the programs that a plan's gateways and hosts run are not on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

from pydantic import TypeAdapter

from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.gateways import GatewayConfig
from natxy.testbeds.guest.files import find_guest
from natxy.testbeds.lab_kernels import runs_in_guest

_CONFIG: Final[TypeAdapter[GatewayConfig]] = TypeAdapter(GatewayConfig)


def looks_here(plan: ResolvedPlan) -> bool:
    """The gateways run on this machine, so that it can be known beforehand whether they can."""
    return plan.testbed.gateway_is_local


def missing_programs(plan: ResolvedPlan) -> dict[str, list[str]]:
    """`map646: ...`, a line for each program that isn't here, with what to do about it: who needs it."""
    lacking: dict[str, list[str]] = {}
    for experiment in plan.experiments if looks_here(plan) else ():
        gateway = experiment.gateway
        lines = [f"{gateway.driver}: {reason}" for reason in why_not(gateway)]
        if experiment.procedure.between_hosts and plan.testbed.has_ports and not shutil.which("iperf3"):
            lines.append(f"{experiment.procedure.name}: iperf3 is not installed: apt install iperf3")
        for line in lines:
            lacking.setdefault(line, []).append(experiment.name)
    return lacking


def lab_gateways() -> list[GatewayConfig]:
    """Of each driver that a lab can set up, as it is by default."""
    return [
        _CONFIG.validate_python({"driver": name})
        for name, driver in GATEWAYS.items()
        if issubclass(driver, LinuxGateway)
    ]


def why_not(gateway: GatewayConfig) -> Iterator[str]:
    """`map646 is not installed: ...`: what keeps it from being measured on this machine, with what to do about it."""
    try:
        if runs_in_guest(gateway):
            find_guest()
    except PlanError as error:
        yield str(error)
        return
    # A guest has this machine's programs.
    for program, remedy in GATEWAYS[gateway.driver].programs(gateway).items():
        if not shutil.which(program):
            yield f"{program} is not installed: {remedy}"
