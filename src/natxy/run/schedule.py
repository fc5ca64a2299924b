# SPDX-License-Identifier: Apache-2.0
"""Decides which experiment of a run is repeated next, and when it has been repeated often enough."""

from __future__ import annotations

from collections.abc import Mapping

from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import LEAST_REPEAT, RunOrder
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.results.analysis.ratios import precision
from natxy.run.blocks import block_order
from natxy.run.experiment import ExperimentRun


def repeat_all(plan: ResolvedPlan, runs: Mapping[str, ExperimentRun], listener: RunListener) -> None:
    """Measures all repetitions of all experiments in the plan's order; `runs` are by the experiments' names."""
    if plan.order == RunOrder.EXPERIMENTS:
        for run in runs.values():
            _repeat_one(run)
        return
    number = 1
    while block := _needed(plan, runs, number):
        listener.receive(BlockStarted(number=number, experiments=len(block)))
        may_follow = _needed(plan, runs, number + 1, precise=False)
        for experiment in block_order(plan.experiments, plan.seed, number):
            if experiment.name in block:
                runs[experiment.name].repeat(number)
                if experiment.name not in may_follow:
                    runs[experiment.name].finish()
        number += 1
        following = _needed(plan, runs, number)
        for name, run in runs.items():
            if name in block - following:
                run.finish()


def _repeat_one(run: ExperimentRun) -> None:
    number = 1
    while run.state is None and _needs(run.experiment, run, None, number):
        run.repeat(number)
        number += 1
    run.finish()


def _needed(plan: ResolvedPlan, runs: Mapping[str, ExperimentRun], number: int, *, precise: bool = True) -> set[str]:
    """Returns the names of the experiments of block `number`.

    As long as an experiment is repeated for its precision, so is its baseline, because their ratio is that within a
    block. With `precise=False`, the experiments are taken for too imprecise.
    """
    needed = set()
    for experiment in plan.experiments:
        run, baseline = runs[experiment.name], runs.get(experiment.baseline or "")
        if run.state is None and _needs(experiment, run if precise else None, baseline, number):
            needed.add(experiment.name)
            if experiment.repeat.until and baseline and baseline.state is None:
                needed.add(baseline.experiment.name)
    return needed


def _needs(experiment: Experiment, run: ExperimentRun | None, baseline: ExperimentRun | None, number: int) -> bool:
    """Returns True if the experiment is to have a repetition `number`; without `run`, its results are ignored."""
    repeat = experiment.repeat
    if number > repeat.at_most:
        return False
    if repeat.until is None or number <= LEAST_REPEAT or run is None:
        return True
    found = precision(run.headlines, baseline.headlines if baseline else None)
    return found is None or found > repeat.until
