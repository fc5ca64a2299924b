# SPDX-License-Identifier: Apache-2.0
"""Estimates from its settings how long a plan takes to measure."""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.registry import procedure_of

# Seconds to set up a testbed and start its engine.
SET_UP_S: Final = 3.0


def estimate_s(plan: ResolvedPlan) -> float:
    return sum(experiment_s(plan, experiment) for experiment in plan.experiments)


def experiment_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    steps = experiment.repeat * expected_steps(experiment)
    if plan.testbed.in_virtual_time:
        return 0.001 * steps
    traffic_s = procedure_of(experiment).expected_step_s(experiment, _phase1_fps(plan, experiment))
    clear_s = experiment.gateway.clear_s if experiment.gateway.keeps_connections else 0.0
    return SET_UP_S + steps * (clear_s + experiment.timing.settle + TRIAL_OVERHEAD_S + traffic_s)


def expected_steps(experiment: Experiment) -> int:
    """Returns about how many steps one repetition takes."""
    return procedure_of(experiment).expected_steps(experiment)


def _phase1_fps(plan: ResolvedPlan, experiment: Experiment) -> float | None:
    middles = {other.name: other.search.middle_rate for other in plan.experiments if other.search}
    return experiment.phase1_rate.given_by(middles) if experiment.phase1_rate else None
