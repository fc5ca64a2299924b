# SPDX-License-Identifier: Apache-2.0
"""`natxy history`: shows the results of many runs over time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.console import Console, echo
from natxy.cli.errors import reported_errors, warn
from natxy.cli.output.file import output_file
from natxy.errors import PlanError
from natxy.history.finding import Found, find
from natxy.history.index import Index, index_file
from natxy.history.rows import history_rows, to_json
from natxy.history.series import PlanHistory, histories
from natxy.report.page import history as history_page
from natxy.report.page.history import HISTORY_FILE
from natxy.report.tables import history as tables
from natxy.report.tables.table import Table, to_rich
from natxy.report.text.formats import TableFormat, render
from natxy.results.rows import to_csv
from natxy.system.whole_file import whole_file


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
            metavar="FILE", help=f"The page to write; default: {HISTORY_FILE} in the first FOLDER.", show_default=False
        ),
    ] = None,
) -> None:
    """Show the results of many runs over time, in one page.

    Runs of the same plan are a history: each figure with its 95 % confidence interval from run to run, where its level
    changed, and which versions and settings changed with it. Runs with other traffic, such as other frame sizes, are
    kept apart. A folder that cannot be read is listed with the reason.
    """
    with reported_errors():
        if form and output:
            raise PlanError("expected --format or --output, and not both: --format prints to standard output")
        index = Index(index_file())
        found = find(folders, index)
        if index.problem:
            warn(index.problem)
        shown = _chosen(histories(found.runs), plan, found)
        console = Console()
        match form:
            case HistoryFormat.CSV:
                echo(to_csv(history_rows(shown)))
            case HistoryFormat.JSON:
                echo(to_json(found, shown))
            case HistoryFormat.MARKDOWN:
                echo(render(_tables(found, shown, everything=True), TableFormat.MARKDOWN))
            case HistoryFormat.TEXT:
                _print(console, _tables(found, shown, everything=True))
            case None:
                _print(console, _tables(found, shown, everything=False))
                page = history_page.render(found, shown)
                _report(_write(page, output, folders[0]), shown, console)


def _chosen(found: Sequence[PlanHistory], plan: str | None, all_found: Found) -> list[PlanHistory]:
    chosen = [history for history in found if plan in (None, history.name)]
    if chosen:
        return chosen
    if found:
        raise PlanError(f"no run of the plan {plan!r}; there are runs of {', '.join(each.name for each in found)}")
    unread = "".join(f"\n{each.folder}: {each.reason}" for each in all_found.left_out)
    raise PlanError(f"no runs were found in the folders; expected folders that `natxy run` wrote{unread}")


def _tables(found: Found, shown: Sequence[PlanHistory], *, everything: bool) -> list[Table]:
    """Returns the tables that have rows, titled with the plan's name; without `everything` the short ones."""
    result = []
    for history in shown:
        own = [tables.latest(history), tables.change_points(history)]
        if everything:
            own += [tables.marks(history), tables.runs(history)]
        result += [table.titled(f"{history.name}: {table.title}") for table in own if table.rows]
    left_out = tables.left_out(found.left_out)
    return [*result, *([left_out] if left_out.rows else [])]


def _print(console: Console, shown: Sequence[Table]) -> None:
    for table in shown:
        console.print(to_rich(table))


def _write(page: str, output: Path | None, folder: Path) -> Path:
    """Writes the page into the file `output`, or into its usual one in the folder; returns the file."""
    file = output or (folder if folder.is_dir() else folder.parent) / HISTORY_FILE
    try:
        with output_file(file) if output else whole_file(file) as out:
            out.write(page.encode())
    except OSError as error:
        raise PlanError(f"{file} cannot be written: {error.strerror}; choose another --output") from error
    return file


def _report(page: Path, shown: Sequence[PlanHistory], console: Console) -> None:
    for history in shown:
        for sentence in tables.split(history):
            console.say(sentence)
    count = sum(len(history.runs) for history in shown)
    console.print(f"History of {count} run{'s' if count != 1 else ''}: {page}", soft_wrap=True)
