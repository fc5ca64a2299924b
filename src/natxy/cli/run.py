# SPDX-License-Identifier: Apache-2.0
"""`natxy run`: measures a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.completion import experiments
from natxy.cli.options import (
    BeforeOption,
    EventsOption,
    JsonOption,
    JUnitOption,
    MarkdownOption,
    MetricsOption,
    UndecidedOption,
)
from natxy.system.interrupts import one_interrupt
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import plans


def run(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan, a YAML file.", autocompletion=plans, show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for the results; default: runs/NAME-DATE-TIME.", show_default=False
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Measure only this experiment; may be repeated.",
            autocompletion=experiments,
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, metavar="N", help="Repetitions of every experiment.", show_default=False),
    ] = None,
    before: BeforeOption = None,
    events: EventsOption = None,
    metrics: MetricsOption = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    json: JsonOption = None,
    undecided: UndecidedOption = 0,
) -> None:
    """Measure a plan and report the results.

    \b
    Exit codes:
      0    done
      2    the plan has an error, or a gateway does not fit it
      3    the tester was too slow for a result, or a host failed
      4    a gateway could not be reached, set up or reset, or forwards
           nothing; a repetition has no result; or an experiment was skipped
           because the one that it depends on has no result
      5    the engine died
      6    a result is worse than the plan's `expect` allows
      130  interrupted; what was measured is kept
    """
    from natxy.api import load_plan, run_plan
    from natxy.cli.bodies.judging import GateFiles
    from natxy.cli.bodies.measuring import commands, console_beside, end, new_folder, resumable, watched

    console = console_beside(events)
    with reported_errors(), one_interrupt():
        resolved = load_plan(plan, repeat=repeat, only=only or ())
        first = commands(before)
        folder = output or new_folder(resolved.name)
        with resumable(folder, console):
            code = watched(console, lambda listener: run_plan(resolved, folder, listener, first), events, metrics)
        end(folder, console, code, GateFiles(junit, markdown, json), undecided)
