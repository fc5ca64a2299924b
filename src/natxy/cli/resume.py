# SPDX-License-Identifier: Apache-2.0
"""`natxy resume`: goes on with a run that was cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.console import LastingConsole
from natxy.cli.errors import one_interrupt, reported_errors
from natxy.cli.run import end, measured, prepare, say_how_to_go_on
from natxy.errors import PlanError
from natxy.plan.yaml.loading import load_plan
from natxy.results.reader import RunReader
from natxy.run.folder import PLAN_FILE
from natxy.run.run import resume_plan


def resume(folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.", show_default=False)]) -> None:
    """Go on with a run that was killed, interrupted or failed, and report it.

    No trial that can be used is measured again: the recorded ones lead the search back to where it was. Experiments
    that failed, be it for a host, were skipped or have repetitions without a result are tried again. Exit codes are
    those of `natxy run`; 2 when there is nothing to resume.
    """
    console = LastingConsole()
    with reported_errors(), one_interrupt():
        RunReader(folder)
        plan = load_plan(folder / PLAN_FILE)
        prepare(plan)
        try:
            code = measured(plan, console, lambda listener: resume_plan(plan, folder, listener))
        except PlanError:
            raise
        except BaseException:
            say_how_to_go_on(folder, console)
            raise
        end(folder, console, code)
