# SPDX-License-Identifier: Apache-2.0
"""About how long a plan takes, from its settings alone."""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.procedures.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.registry import procedure_of

# Setting up a testbed and its engine.
SET_UP_S: Final = 3.0


def estimate_s(plan: ResolvedPlan) -> float:
    return sum(experiment_s(plan, experiment) for experiment in plan.experiments)


def experiment_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    steps = experiment.repeat * expected_steps(experiment)
    if plan.testbed.kind == "simulated":
        return 0.001 * steps
    traffic_s = procedure_of(experiment).expected_step_s(experiment, _phase1_fps(plan, experiment))
    return SET_UP_S + steps * (experiment.timing.settle + TRIAL_OVERHEAD_S + traffic_s)


def expected_steps(experiment: Experiment) -> int:
    """Of one repetition."""
    return procedure_of(experiment).expected_steps(experiment)


def _phase1_fps(plan: ResolvedPlan, experiment: Experiment) -> float | None:
    phase1 = experiment.phase1_rate
    if phase1 is None or phase1.experiment is None or phase1.percent is None:
        return phase1.rate if phase1 else None
    source = next(other for other in plan.experiments if other.name == phase1.experiment)
    assert source.search is not None
    return source.search.middle_rate * phase1.percent / 100
