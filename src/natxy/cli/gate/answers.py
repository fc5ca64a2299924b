# SPDX-License-Identifier: Apache-2.0
"""Judges a run by what its plan, or a limit on the command line, expects, and prints the answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rich.console

from natxy.errors import PlanError
from natxy.plan.model.expect import parse_percent
from natxy.plan.yaml.loading import load_plan
from natxy.report.text.terminal import threshold_parts
from natxy.results.analysis.gate import Judged, Limit, expectations, judge_plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


def judge_run(run: RunRecord, plan: Path | None = None) -> list[Judged]:
    """Returns the answers to what the run's plan, or `plan`, expects.

    Raises PlanError if an earlier run that is named there cannot be read, or if the run lacks an experiment of which
    `plan` expects something.
    """
    expected = expectations(run)
    if plan:
        expected = {each.name: each.expect for each in load_plan(plan).experiments if each.expect}
    if absent := expected.keys() - {experiment.name for experiment in run.experiments}:
        raise PlanError(
            f"{plan}: `expect` of {', '.join(sorted(absent))} cannot be judged, because the run has no experiment of "
            "that name: measure it, or remove its `expect`"
        )
    return judge_plan(run, expected, lambda named: RunReader(Path(named)).run)


def print_answers(judged: Sequence[Judged], console: rich.console.Console) -> None:
    for part in threshold_parts(judged):
        console.print(part)


def parse_limit(given: str) -> Limit:
    """Reads `5%`, `EXPERIMENT=5%` or `EXPERIMENT:FIGURE=5%`. Raises PlanError for anything else."""
    where, _, percent = given.rpartition("=")
    experiment, colon, figure = where.rpartition(":")
    if not colon:
        experiment, figure = where, ""
    try:
        return Limit(parse_percent(percent).value, experiment or "*", figure)
    except ValueError as error:
        forms = "its forms are 5%, EXPERIMENT=5% and EXPERIMENT:FIGURE=5%"
        raise PlanError(f"--fail-below {given}: {forms}; {error}") from error
