# SPDX-License-Identifier: Apache-2.0
"""Chooses and shows the histories of plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from natxy.cli.output.file import output_file
from natxy.errors import PlanError
from natxy.history.finding import Found
from natxy.history.series import PlanHistory
from natxy.report.page.history import HISTORY_FILE
from natxy.report.tables import history as tables
from natxy.report.tables.table import Table, to_rich
from natxy.system.whole_file import whole_file
from natxy.terminal.console import Console


def chosen_of(found: Sequence[PlanHistory], plan: str | None, all_found: Found) -> list[PlanHistory]:
    chosen = [history for history in found if plan in (None, history.name)]
    if chosen:
        return chosen
    if found:
        raise PlanError(f"no run of the plan {plan!r}; there are runs of {', '.join(each.name for each in found)}")
    unread = "".join(f"\n{each.folder}: {each.reason}" for each in all_found.left_out)
    raise PlanError(f"no runs were found in the folders; expected folders that `natxy run` wrote{unread}")


def tables_of(found: Found, shown: Sequence[PlanHistory], *, everything: bool) -> list[Table]:
    """Returns the tables that have rows, titled with the plan's name; without `everything` the short ones."""
    result = []
    for history in shown:
        own = [tables.latest(history), tables.change_points(history)]
        if everything:
            own += [tables.marks(history), tables.runs(history)]
        result += [table.titled(f"{history.name}: {table.title}") for table in own if table.rows]
    left_out = tables.left_out(found.left_out)
    return [*result, *([left_out] if left_out.rows else [])]


def print_tables(console: Console, shown: Sequence[Table]) -> None:
    for table in shown:
        console.print(to_rich(table))


def write_page(page: str, output: Path | None, folder: Path) -> Path:
    """Writes the page into the file `output`, or into its usual one in the folder; returns the file."""
    file = output or (folder if folder.is_dir() else folder.parent) / HISTORY_FILE
    try:
        with output_file(file) if output else whole_file(file) as out:
            out.write(page.encode())
    except OSError as error:
        raise PlanError(f"{file} cannot be written: {error.strerror}; choose another --output") from error
    return file


def report_page(page: Path, shown: Sequence[PlanHistory], console: Console) -> None:
    for history in shown:
        for sentence in tables.split(history):
            console.say(sentence)
    count = sum(len(history.runs) for history in shown)
    console.print(f"History of {count} run{'s' if count != 1 else ''}: {page}", soft_wrap=True)
