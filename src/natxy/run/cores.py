# SPDX-License-Identifier: Apache-2.0
"""Checks that gateways can have the cores that their experiments ask for, and sets them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from natxy.dut.base import Capability, Gateway
from natxy.dut.registry import GATEWAYS
from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.testbeds.lab_kernels import runs_in_guest


def most_cores(plan: ResolvedPlan) -> int:
    """Returns the largest number of cores that an experiment gives its gateway, at least 1."""
    return max((experiment.cores or 1 for experiment in plan.experiments), default=1)


def check_cores(plan: ResolvedPlan) -> None:
    """Raises PlanError when the testbed lacks cores that the plan names or asks for, or when a gateway's driver cannot
    set how many it uses."""
    available = plan.testbed.dut_core_count(os.sched_getaffinity(0), most_cores(plan))
    for experiment in plan.experiments:
        if experiment.cores is None:
            continue
        if plan.testbed.runs_guests and runs_in_guest(experiment.gateway):
            raise PlanError(
                f"{experiment.name}: {experiment.gateway.title} runs in user-mode Linux here, which has one "
                "virtual CPU; remove `cores`"
            )
        _check(experiment, experiment.cores, available)


def _check(experiment: Experiment, cores: int, available: int | None) -> None:
    """`available`: cores of the gateway; None when only the DUT knows."""
    gateway = experiment.gateway
    can_set_cores = all(Capability.SET_CORES in GATEWAYS[hop.driver].capabilities_of(hop) for hop in gateway.hops)
    if gateway.steers_own_cores:
        if not can_set_cores:
            raise PlanError(f"{experiment.name}: the gateway has no commands for `cores`; give it `set_cores`")
        return
    if available == 0 or not can_set_cores:
        raise PlanError(
            f"{experiment.name}: the cores of {gateway.title} cannot be set on this testbed; remove `cores`"
        )
    if available is not None and cores > available:
        raise PlanError(
            f"{experiment.name} asks for {cores} of the gateway's cores, but this testbed has {available} for it: ask "
            "for fewer, or give it more by the testbed's `dut_cores`"
        )


def set_cores(gateway: Gateway[Any], dut_cores: Sequence[int], experiment: Experiment) -> None:
    """Gives the gateway the cores that the experiment asks for, or all of `dut_cores`.

    Raises PlanError when the DUT has fewer.
    """
    if Capability.SET_CORES not in gateway.capabilities:
        return
    asked = experiment.cores
    if experiment.gateway.steers_own_cores:
        # Its commands know how many cores it has.
        if asked is not None:
            gateway.set_cores(range(asked))
        return
    if asked is not None and asked > len(dut_cores):
        raise PlanError(
            f"{experiment.name} asks for {asked} of the gateway's cores, but the DUT has {len(dut_cores)} in "
            "service: ask for fewer"
        )
    if dut_cores:
        gateway.set_cores(dut_cores[:asked])
