# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a run, and writes its report or its charts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import rich.console

from natxy.errors import PlanError
from natxy.report.charts.chart_format import ChartFormat
from natxy.report.charts.run import run_charts
from natxy.report.charts.still import write_charts
from natxy.report.page.html import REPORT_FILE, write_report
from natxy.report.text import terminal
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.terminal.console import echo
from natxy.terminal.errors import warn

CHARTS_FOLDER: Final = "charts"


def save_charts(reader: RunReader, form: ChartFormat, output: Path | None) -> None:
    folder = output or reader.folder / CHARTS_FOLDER
    try:
        written = write_charts(run_charts(reader.run), form, folder)
    except OSError as error:
        raise PlanError(f"{folder}: the charts could not be written: {error.strerror}") from error
    for file in written:
        echo(f"{file}\n")


def show(folder: Path, console: rich.console.Console, *, list_caveats: bool = True) -> RunRecord:
    """Prints the results of the run in `folder`, writes its report and returns it. PlanError if the folder has none."""
    reader = RunReader(folder)
    console.print(terminal.render(reader, list_caveats=list_caveats))
    try:
        page = write_report(reader)
    except OSError as error:
        warn(f"{reader.folder / REPORT_FILE} could not be written: {error.strerror}")
    else:
        console.print(f"Report: {page}", soft_wrap=True)
    return reader.run
