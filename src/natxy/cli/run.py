# SPDX-License-Identifier: Apache-2.0
"""`natxy run`: measures what a plan asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from natxy.cli.errors import one_interrupt, reported_errors
from natxy.cli.report import show
from natxy.cli.watch import LiveWatch, PlainWatch
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.loading import load_plan
from natxy.procedures.listener import RunListener
from natxy.procedures.runner import run_plan


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

    Exit codes: 0 done; 2 bad plan; 3 the tester was too slow for a result; 4 a gateway could not be reached, set up or
    reset; 5 the engine died; 130 interrupted, with everything kept that was measured.
    """
    console = Console()
    with reported_errors(), one_interrupt():
        resolved = load_plan(plan, repeat=repeat, only=only or ())
        folder = output or Path("runs") / f"{resolved.name}-{datetime.now():%Y%m%d-%H%M%S}"
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PlanError(f"{folder} is there already; give another --output, so that no result is overwritten")
        try:
            code = measured(resolved, console, lambda listener: run_plan(resolved, folder, listener))
        except BaseException:
            if folder.exists():
                say_how_to_go_on(folder, console)
            raise
        show(folder, console)
        if code:
            raise typer.Exit(code)


def measured(plan: ResolvedPlan, console: Console, measure: Callable[[RunListener], int]) -> int:
    """What `measure` returns, watched on `console`."""
    if not console.is_terminal:
        return measure(PlainWatch(plan, console))
    with LiveWatch(plan, console) as watch:
        return measure(watch)


def say_how_to_go_on(folder: Path, console: Console) -> None:
    console.print(
        f"What was measured is in {folder}; `natxy report {folder}` shows it, `natxy resume {folder}` goes on.",
        soft_wrap=True,
    )
