# SPDX-License-Identifier: Apache-2.0
"""How many of a gateway's cores do packet work: what can be known before measuring."""

from __future__ import annotations

import os

from natxy.dut.base import Capability
from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.testbeds.cores import assign_cores, lab_cores
from natxy.testbeds.kernels import runs_in_guest


def most_cores(plan: ResolvedPlan) -> int:
    return max((experiment.cores or 1 for experiment in plan.experiments), default=1)


def check_cores(plan: ResolvedPlan) -> None:
    """PlanError where the testbed doesn't have the cores that the plan names or asks for, or where a gateway's driver
    cannot set how many it uses."""
    match plan.testbed:
        case LabConfig() as lab:
            available: int | None = len(lab_cores(lab, most_cores(plan)).dut)
        case HardwareConfig(dut=dut) | HostsConfig(dut=dut):
            # Behind ssh they are counted when the DUT is set up; this machine's are not the gateway's alone.
            available = None if dut.ssh else 0
        case LoopConfig() as loop:
            assign_cores(os.sched_getaffinity(0), loop.tester_cores, ())
            available = 0
        case MemifConfig():
            available = 0
        case SimulatedTestbedConfig() as simulated:
            available = simulated.dut_cores
    for experiment in plan.experiments:
        if experiment.cores is not None:
            if isinstance(plan.testbed, LabConfig) and runs_in_guest(experiment.gateway):
                raise PlanError(
                    f"{experiment.name}: {experiment.gateway.driver} runs in user-mode Linux here, which has one "
                    "virtual CPU; remove `cores`"
                )
            _check(experiment, experiment.cores, available)


def _check(experiment: Experiment, cores: int, available: int | None) -> None:
    gateway = experiment.gateway
    driver = gateway.driver
    can_set_cores = Capability.SET_CORES in GATEWAYS[driver].capabilities_of(gateway)
    if gateway.steers_own_cores:
        if not can_set_cores:
            raise PlanError(f"{experiment.name}: the gateway has no commands for `cores`; give it `set_cores`")
        return
    if available == 0 or not can_set_cores:
        raise PlanError(f"{experiment.name}: the cores of {driver} cannot be set on this testbed; remove `cores`")
    if available is not None and cores > available:
        raise PlanError(
            f"{experiment.name} asks for {cores} of the gateway's cores, but this testbed has {available} for it: ask "
            "for fewer, or give it more by the testbed's `dut_cores`"
        )
