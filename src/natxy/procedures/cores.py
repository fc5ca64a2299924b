# SPDX-License-Identifier: Apache-2.0
"""How many of a gateway's cores do packet work: what can be known before measuring."""

from __future__ import annotations

import os

from natxy.dut.base import Capability
from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.lab.cores import assign_cores, lab_cores
from natxy.lab.kernels import runs_in_guest
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.hardware import HardwareConfig
from natxy.plan.models import LabConfig, SimulatedTestbedConfig


def most_cores(plan: ResolvedPlan) -> int:
    return max((experiment.cores or 1 for experiment in plan.experiments), default=1)


def check_cores(plan: ResolvedPlan) -> None:
    """PlanError where the testbed doesn't have the cores that the plan names or asks for, or where a gateway's driver
    cannot set how many it uses."""
    match plan.testbed:
        case LabConfig() as lab:
            available = len(lab_cores(lab, most_cores(plan)).dut)
        case HardwareConfig() as hardware:
            available = len(assign_cores(os.sched_getaffinity(0), hardware.tester_cores, ()).dut)
        case SimulatedTestbedConfig() as simulated:
            available = simulated.dut_cores
    for experiment in plan.experiments:
        if experiment.cores is not None:
            in_guest = isinstance(plan.testbed, LabConfig) and runs_in_guest(experiment.gateway)
            _check(experiment, experiment.cores, 0 if in_guest else available)


def _check(experiment: Experiment, cores: int, available: int) -> None:
    driver = experiment.gateway.driver
    if not available or (driver in GATEWAYS and Capability.SET_CORES not in GATEWAYS[driver].capabilities):
        raise PlanError(f"{experiment.name}: the cores of {driver} cannot be set on this testbed; remove `cores`")
    if cores > available:
        raise PlanError(
            f"{experiment.name} asks for {cores} of the gateway's cores, but this testbed has {available} for it: ask "
            "for fewer, or give it more by the testbed's `dut_cores`"
        )
