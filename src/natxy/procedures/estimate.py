# SPDX-License-Identifier: Apache-2.0
"""About how long a plan takes, from its settings alone."""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.models import Procedure
from natxy.procedures.runner import binary_search

# Setting up a testbed and its engine, and what a trial takes besides its traffic and its waits.
SET_UP_S: Final = 3.0
TRIAL_OVERHEAD_S: Final = 0.1


def estimate_s(plan: ResolvedPlan) -> float:
    return sum(experiment_s(plan, experiment) for experiment in plan.experiments)


def experiment_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    if plan.testbed.kind == "simulated":
        return 0.001 * experiment.repeat * expected_steps(experiment)
    return SET_UP_S + experiment.repeat * expected_steps(experiment) * _step_s(plan, experiment)


def expected_steps(experiment: Experiment) -> int:
    return binary_search(experiment.search).expected_steps()


def _step_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    timing = experiment.timing
    around = timing.settle + TRIAL_OVERHEAD_S + timing.drain
    if experiment.procedure == Procedure.THROUGHPUT:
        phase1_fps = _phase1_fps(plan, experiment)
        if phase1_fps is None or experiment.connections is None:
            return around + timing.trial
        phase1_s = experiment.connections / phase1_fps + timing.drain + timing.learning_pause
        return around + TRIAL_OVERHEAD_S + phase1_s + timing.trial
    assert experiment.connections is not None
    traffic_s = experiment.connections / _middle(experiment)
    if experiment.alpha is None:
        return around + traffic_s
    return around + TRIAL_OVERHEAD_S + timing.drain + traffic_s + traffic_s / experiment.alpha


def _phase1_fps(plan: ResolvedPlan, experiment: Experiment) -> float | None:
    phase1 = experiment.phase1_rate
    if phase1 is None or phase1.experiment is None or phase1.percent is None:
        return phase1.rate if phase1 else None
    source = next(other for other in plan.experiments if other.name == phase1.experiment)
    return _middle(source) * phase1.percent / 100


def _middle(experiment: Experiment) -> float:
    return (experiment.search.min_rate + experiment.search.max_rate) / 2
