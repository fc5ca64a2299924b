# SPDX-License-Identifier: Apache-2.0
"""`natxy report`: shows a run again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from natxy.cli.errors import reported_errors, warn
from natxy.report.formats import TableFormat, render
from natxy.report.results_tables import rfc_form
from natxy.results.reader import RunReader


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.", show_default=False)],
    form: Annotated[
        TableFormat | None, typer.Option("--format", help="Print the tables in this format alone.", show_default=False)
    ] = None,
) -> None:
    """Print a run's results and write its report.html anew; also for a run that was interrupted or goes on.

    With --format, print its tables in the form of RFC 9693 §4.10 for a paper or a spreadsheet, and write nothing.
    """
    with reported_errors():
        if form is None:
            show(folder, Console())
        else:
            typer.echo(render(rfc_form(RunReader(folder).run), form), nl=False)


def show(folder: Path, console: Console, *, list_deviations: bool = True) -> None:
    """PlanError when `folder` holds no run."""
    # It complains when it finds no place to keep its list of fonts, and works without.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # Matplotlib takes longer to import than all else; the other verbs need none of it.
    from natxy.report.html import REPORT_FILE, write_report
    from natxy.report.terminal import render

    reader = RunReader(folder)
    console.print(render(reader, list_deviations=list_deviations))
    try:
        page = write_report(reader.folder)
    except OSError as error:
        warn(f"{reader.folder / REPORT_FILE} could not be written: {error.strerror}")
    else:
        console.print(f"Report: {page}", soft_wrap=True, highlight=False)
