# SPDX-License-Identifier: Apache-2.0
"""`natxy compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.console import Console
from natxy.cli.errors import reported_errors
from natxy.cli.printed import PrintedFormat, printed
from natxy.errors import PlanError
from natxy.report.tables import comparison
from natxy.report.tables.table import to_rich
from natxy.report.words import tester
from natxy.results.compare import RULE, compare
from natxy.results.reader import RunReader
from natxy.results.rows import comparison_rows


def compare_runs(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Two or more runs' folders.", show_default=False)
    ],
    form: Annotated[
        PrintedFormat | None,
        typer.Option("--format", help="Print the comparison in this format alone.", show_default=False),
    ] = None,
) -> None:
    """Compare the experiments that runs have in common, each run with the first.

    Experiments are the same when their names, procedures and cells are. A run differs from the first when their
    medians differ by more than the wider of the two spreads: maximum − minimum of the repetitions, or the last bracket
    of a search where that is wider. One repetition has no spread. Of traffic that is not alike, as of other frame
    sizes, there is no verdict.
    """
    with reported_errors():
        if len(folders) < 2:
            raise PlanError("expected at least two runs to compare")
        runs = [RunReader(folder).run for folder in folders]
        compared = compare(runs)
        if not compared.figures:
            raise PlanError("the runs have no experiment in common: names, procedures and cells have to be the same")
        tables = comparison.figures(compared)
        differing = comparison.settings(compared, len(runs))
        if differing.rows:
            tables.append(differing)
        if form is not None:
            if compared.unmatched:
                tables.append(comparison.unmatched_table(compared))
            typer.echo(printed(form, tables, comparison_rows(compared)), nl=False)
            return
        console = Console()

        def say(line: str) -> None:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

        for number, (folder, run) in enumerate(zip(folders, runs, strict=True), 1):
            say(f"Run {number}: {folder}, {run.name} of {run.started_at}")
            if doubt := tester.busy(run):
                say(f"  {doubt} Its spread may say too little of what another run measures.")
        for table in tables:
            console.print(to_rich(table))
        for line in comparison.unmatched(compared):
            say(f"{comparison.NOT_IN_EVERY_RUN}: {line}")
        say(RULE)
