# SPDX-License-Identifier: Apache-2.0
"""`natxy judge`: judges a run by what its plan expects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import rich.console
import typer

from natxy.cli.console import Console
from natxy.cli.errors import reported_errors, warn
from natxy.cli.gate.files import GateFiles, JsonOption, JUnitOption, MarkdownOption, UndecidedOption, gate_code
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.report.tables.table import to_rich
from natxy.report.tables.thresholds import threshold_table
from natxy.results.analysis.gate import Judged, judge_plan
from natxy.results.reader import RunReader


def judge(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Take the thresholds from this plan instead.", show_default=False),
    ] = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    json: JsonOption = None,
    undecided: UndecidedOption = 0,
) -> None:
    """Judge a run by what its plan expects.

    Every `expect` of the plan is met, missed or undecided: the latter if the interval of the result contains the
    threshold. `natxy run` and `natxy resume` do the same when they end.

    Exit code 6 if a threshold is missed, 0 if all are met or undecided.
    """
    with reported_errors():
        judged = judge_folder(folder, Console(), GateFiles(junit, markdown, json), plan)
        if not judged:
            raise PlanError("the plan expects nothing: give its experiments an `expect`")
        if code := gate_code(judged, undecided):
            raise typer.Exit(code)


def judge_folder(
    folder: Path, console: rich.console.Console, files: GateFiles, plan: Path | None = None
) -> list[Judged]:
    """Prints and writes the answers to what the run's plan, or `plan`, expects.

    Raises PlanError if an earlier run that is named there cannot be read.
    """
    run = RunReader(folder).run
    experiments = load_plan(plan).experiments if plan else [experiment.planned for experiment in run.experiments]
    expected = {experiment.name: experiment.expect for experiment in experiments if experiment.expect}
    judged = judge_plan(run, expected, lambda named: RunReader(Path(named)).run)
    files.write(run.name, judged)
    print_answers(judged, console)
    return judged


def warn_of_unjudged(plan: ResolvedPlan) -> None:
    """Names the thresholds that `--only` leaves out together with a baseline."""
    for name in plan.unjudged_ratios:
        warn(f"{name}: `ratio_at_least` is not judged, because `--only` leaves out the baseline; name that too")


def print_answers(judged: Sequence[Judged], console: rich.console.Console) -> None:
    if judged:
        console.print(to_rich(threshold_table(judged)))
