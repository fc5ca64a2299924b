# SPDX-License-Identifier: Apache-2.0
"""Estimates from its settings how long a plan takes to measure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import RunOrder
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.registry import procedure_of
from natxy.run.setup import MOST_STANDING, setup_key

# Seconds to remove a set-up, build another one and start its engine.
SET_UP_S: Final = 1.5


def estimate_s(plan: ResolvedPlan, repetitions: Mapping[str, int] | None = None) -> float:
    """Returns the seconds for so many repetitions by experiment; without them, for as many as the plan allows."""
    counts = {experiment.name: experiment.repeat.at_most for experiment in plan.experiments} | dict(repetitions or {})
    return sum(counts[experiment.name] * repetition_s(plan, experiment) for experiment in plan.experiments)


def slowest_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    """Returns about the seconds for all repetitions if every step took as long as one at the lowest rate of the search.

    This is no upper bound: a search may take more steps than expected, and steps may be tried again, after a rest.
    """
    lowest = plan.model_copy(update={"experiments": [_at_lowest_rate(each) for each in plan.experiments]})
    return experiment.repeat.at_most * _repetition_s(lowest, _at_lowest_rate(experiment), expected_steps(experiment))


def repetition_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    """Returns the seconds for one repetition, with its share of the set-ups."""
    return _repetition_s(plan, experiment, expected_steps(experiment))


def _repetition_s(plan: ResolvedPlan, experiment: Experiment, steps: int) -> float:
    if plan.testbed.in_virtual_time:
        return 0.001 * steps
    traffic_s = procedure_of(experiment).expected_step_s(experiment, _phase1_fps(plan, experiment))
    gateway, connections = experiment.gateway, experiment.pair_count * (experiment.connections or 0)
    clear_s = gateway.clearing_s(connections) if gateway.keeps_connections else 0.0
    timing = experiment.timing
    step_s = clear_s + timing.settle + timing.learning_s + TRIAL_OVERHEAD_S + traffic_s
    return _set_up_s(plan, experiment) + _building_share_s(plan) + steps * step_s


def _set_up_s(plan: ResolvedPlan, experiment: Experiment) -> float:
    """Returns the time of a set-up, or a repetition's share of it if all set-ups stand side by side."""
    setups = {repr(setup_key(each)) for each in plan.experiments}
    stand = plan.testbed.stand_together and len(setups) <= MOST_STANDING
    return SET_UP_S / experiment.repeat.at_most if stand else SET_UP_S


def _building_share_s(plan: ResolvedPlan) -> float:
    """Returns one repetition's share of the time that a testbed takes to build which outlives its gateways."""
    # It is built anew for another MTU.
    builds = sum(1 for _ in groupby(experiment.address_plan.mtu for experiment in plan.experiments))
    if builds > 1 and plan.order == RunOrder.BLOCKS:
        builds *= max(experiment.repeat.at_most for experiment in plan.experiments)
    return builds * plan.testbed.build_s / sum(experiment.repeat.at_most for experiment in plan.experiments)


def _at_lowest_rate(experiment: Experiment) -> Experiment:
    search = experiment.search
    lowest = search and search.model_copy(update={"max_rate": search.min_rate})
    return experiment.model_copy(update={"search": lowest})


def expected_steps(experiment: Experiment) -> int:
    """Returns about how many steps one repetition takes."""
    return procedure_of(experiment).expected_steps(experiment)


def _phase1_fps(plan: ResolvedPlan, experiment: Experiment) -> float | None:
    middles = {other.name: other.search.middle_rate for other in plan.experiments if other.search}
    rate = experiment.phase1_rate
    return rate.given_by(middles.get(rate.experiment or "")) if rate else None
