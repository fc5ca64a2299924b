# SPDX-License-Identifier: Apache-2.0
"""`natxy history`: shows the results of many runs over time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import PlanError
from natxy.terminal.console import Console, echo
from natxy.terminal.errors import reported_errors, warn


class HistoryFormat(StrEnum):
    """Selects tables (`text`, `markdown`), or a row for each figure of each run (`csv`, `json`)."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


def history(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Folders with runs, at any depth.", show_default=False),
    ],
    plan: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the runs of the plan of this name.", show_default=False)
    ] = None,
    form: Annotated[
        HistoryFormat | None,
        typer.Option("--format", help="Print the history in this format, and write no page.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The page to write; default: history.html in the first FOLDER.", show_default=False
        ),
    ] = None,
) -> None:
    """Show the results of many runs over time on one page.

    Runs of the same plan form a history. It shows each figure with its 95 % confidence interval from run to run, where
    its level changed, and which versions and settings changed at the same time. Runs with different traffic, such as
    other frame sizes, are kept apart. Folders that cannot be read are listed with the reason.
    """
    from natxy.cli.bodies.history import chosen_of, print_tables, report_page, tables_of, write_page
    from natxy.export.rows import to_csv
    from natxy.history.finding import find
    from natxy.history.index import Index, index_file
    from natxy.history.rows import history_rows, to_json
    from natxy.history.series import histories
    from natxy.report.page import history as history_page
    from natxy.report.text.formats import TableFormat, render

    with reported_errors():
        if form and output:
            raise PlanError("expected --format or --output, and not both: --format prints to standard output")
        index = Index(index_file())
        found = find(folders, index)
        if index.problem:
            warn(index.problem)
        shown = chosen_of(histories(found.runs), plan, found)
        console = Console()
        match form:
            case HistoryFormat.CSV:
                echo(to_csv(history_rows(shown)))
            case HistoryFormat.JSON:
                echo(to_json(found, shown))
            case HistoryFormat.MARKDOWN:
                echo(render(tables_of(found, shown, everything=True), TableFormat.MARKDOWN))
            case HistoryFormat.TEXT:
                print_tables(console, tables_of(found, shown, everything=True))
            case None:
                print_tables(console, tables_of(found, shown, everything=False))
                page = history_page.render(found, shown)
                report_page(write_page(page, output, folders[0]), shown, console)
