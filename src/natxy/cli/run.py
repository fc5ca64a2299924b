# SPDX-License-Identifier: Apache-2.0
"""`natxy run`: measures what a plan asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.cli.console import LastingConsole
from natxy.cli.errors import one_interrupt, reported_errors, warn
from natxy.cli.report import show
from natxy.cli.watch.live import LiveWatch
from natxy.cli.watch.plain import PlainWatch
from natxy.errors import DutError, EngineDiedError, PlanError, TesterLimitError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.results.store import RESULTS_FILE
from natxy.run.cores import check_cores
from natxy.run.events import RunListener
from natxy.run.run import run_plan
from natxy.testbeds.namespaces import prepare_machine

_WHY: Final = {
    EngineDiedError.exit_code: "the engine died; `natxy resume` measures again what it was measuring",
    PlanError.exit_code: "a gateway does not fit what the plan asks of it",
    TesterLimitError.exit_code: "the tester was too slow for a result, or a host in its place failed, which says "
    "nothing of the gateway; what to do about a slow tester is in docs/how-to/invalid-trials.md",
    DutError.exit_code: "a gateway failed, is not installed or gave no result, or an experiment needed another's "
    "result in vain",
}


def run(
    plan: Annotated[Path, typer.Argument(help="The plan, a YAML file.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option(help="Folder for the results; by default runs/NAME-DATE-TIME.", show_default=False)
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Measure only this experiment; can be given again.", show_default=False)
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Repetitions of every experiment.", show_default=False)
    ] = None,
) -> None:
    """Measure what a plan asks and report it.

    Exit codes: 0 done; 2 bad plan, also where only one experiment's gateway turned out not to fit it; 3 the tester was
    too slow for a result, or a host in its place failed; 4 a gateway could not be reached, set up or reset or forwards
    nothing, a repetition ended without a result, or an experiment was skipped because the one it builds on has none; 5
    the engine died; 130 interrupted, with everything kept that was measured.
    """
    console = LastingConsole()
    with reported_errors(), one_interrupt():
        resolved = load_plan(plan, repeat=repeat, only=only or ())
        prepare(resolved)
        folder = output or Path("runs") / f"{resolved.name}-{datetime.now():%Y%m%d-%H%M%S}"
        # Unlike pathlib's, os.path.exists says no where a folder may not be entered.
        was_there = os.path.exists(folder / RESULTS_FILE)
        try:
            code = measured(resolved, console, lambda listener: run_plan(resolved, folder, listener))
        except BaseException:
            if not was_there and os.path.exists(folder / RESULTS_FILE):
                say_how_to_go_on(folder, console)
            raise
        end(folder, console, code)


def prepare(plan: ResolvedPlan) -> None:
    """Before any folder is made: PlanError where nothing real can be measured, and what dead runs left is removed."""
    check_cores(plan)
    if plan.testbed.is_local:
        for other in prepare_machine():
            warn(f"another natxy run, process {other.pid}, has a lab on this machine; the two disturb each other")


def end(folder: Path, console: LastingConsole, code: int) -> None:
    """Shows what was measured and exits with `code`."""
    show(folder, console, list_deviations=False)
    if code:
        console.print(f"Exit code {code}: {_WHY[code]}.", soft_wrap=True, highlight=False)
        raise typer.Exit(code)


def measured(plan: ResolvedPlan, console: LastingConsole, measure: Callable[[RunListener], int]) -> int:
    """What `measure` returns, watched on `console`."""
    if not console.is_terminal:
        return measure(PlainWatch(plan, console))
    with LiveWatch(plan, console) as watch:
        return measure(watch)


def say_how_to_go_on(folder: Path, console: LastingConsole) -> None:
    console.print(
        f"What was measured is in {folder}; `natxy report {folder}` shows it, `natxy resume {folder}` goes on.",
        soft_wrap=True,
    )
