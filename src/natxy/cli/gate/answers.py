# SPDX-License-Identifier: Apache-2.0
"""Judges a run by what its plan expects, and prints the answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rich.console

from natxy.cli.errors import warn
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.report.tables.table import to_rich
from natxy.report.tables.thresholds import threshold_table
from natxy.results.analysis.gate import Judged, judge_plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


def judge_run(run: RunRecord, plan: Path | None = None) -> list[Judged]:
    """Returns the answers to what the run's plan, or `plan`, expects.

    Raises PlanError if an earlier run that is named there cannot be read, or if the run lacks an experiment of which
    `plan` expects something.
    """
    experiments = load_plan(plan).experiments if plan else [experiment.planned for experiment in run.experiments]
    expected = {experiment.name: experiment.expect for experiment in experiments if experiment.expect}
    if absent := expected.keys() - {experiment.name for experiment in run.experiments}:
        raise PlanError(
            f"{plan}: `expect` of {', '.join(sorted(absent))} cannot be judged, because the run has no experiment of "
            "that name: measure it, or remove its `expect`"
        )
    return judge_plan(run, expected, lambda named: RunReader(Path(named)).run)


def print_answers(judged: Sequence[Judged], console: rich.console.Console) -> None:
    if judged:
        console.print(to_rich(threshold_table(judged)))


def warn_of_unjudged(plan: ResolvedPlan) -> None:
    """Names the thresholds that `--only` leaves out together with a baseline."""
    for name in plan.unjudged_ratios:
        warn(f"{name}: `ratio_at_least` is not judged, because `--only` leaves out the baseline; name that too")
