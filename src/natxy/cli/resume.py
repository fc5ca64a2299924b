# SPDX-License-Identifier: Apache-2.0
"""`natxy resume`: continues a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
from natxy.terminal.names import runs


def resume(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run.", autocompletion=runs, show_default=False)
    ],
    before: BeforeOption = None,
    events: EventsOption = None,
    metrics: MetricsOption = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    json: JsonOption = None,
    undecided: UndecidedOption = 0,
) -> None:
    """Continue a run that ended early, and report it.

    Recorded trials are not repeated: they lead each search back to where it was. Experiments that failed, were skipped
    or have repetitions without a result are tried again.

    The exit codes are those of `natxy run`; 2 if there is nothing to resume.
    """
    from natxy.api import RunReader, load_plan, resume_plan
    from natxy.cli.bodies.judging import GateFiles
    from natxy.cli.bodies.measuring import commands, console_beside, end, resumable, watched
    from natxy.run.folder import PLAN_FILE

    console = console_beside(events)
    with reported_errors(), one_interrupt():
        RunReader(folder)
        plan = load_plan(folder / PLAN_FILE)
        first = commands(before)
        with resumable(folder, console):
            code = watched(console, lambda listener: resume_plan(plan, folder, listener, first), events, metrics)
        end(folder, console, code, GateFiles(junit, markdown, json), undecided)
