# SPDX-License-Identifier: Apache-2.0
"""`natxy judge`: judges a run by the thresholds of its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.options import JsonOption, JUnitOption, MarkdownOption, UndecidedOption
from natxy.errors import PlanError
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import plans, runs


def judge(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run.", autocompletion=runs, show_default=False)
    ],
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN", help="Take the thresholds from this plan instead.", autocompletion=plans, show_default=False
        ),
    ] = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    json: JsonOption = None,
    undecided: UndecidedOption = 0,
) -> None:
    """Judge a run by the thresholds of its plan.

    Each `expect` of the plan is met, missed, or undecided if the interval of the result contains the threshold.
    `natxy run` and `natxy resume` judge at their end, too.

    Exit code 6 if a threshold is missed, 0 if all are met or undecided.
    """
    from natxy.cli.bodies.judging import GateFiles, gate_code, judge_run, print_answers
    from natxy.results.reader import RunReader

    with reported_errors():
        run = RunReader(folder).run
        judged = judge_run(run, plan)
        GateFiles(junit, markdown, json).write(run.name, judged)
        print_answers(judged, Console())
        if not judged:
            raise PlanError("the plan expects nothing: give its experiments an `expect`")
        if code := gate_code(judged, undecided):
            raise typer.Exit(code)
