# SPDX-License-Identifier: Apache-2.0
"""Renders tables as Markdown, LaTeX and CSV, for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final

from natxy.report.tables.table import Table
from natxy.untrusted.texts import csv_cell, latex, markdown, one_line

_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")


class TableFormat(StrEnum):
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv-tables"


def render(tables: Iterable[Table], form: TableFormat) -> str:
    """Renders the tables one after the other, separated by empty lines."""
    return "\n".join(_RENDERERS[form](table) for table in tables)


def _markdown(table: Table) -> str:
    """Renders a table in GitHub's dialect."""
    rule = ["--:" if column.numeric else ":--" for column in table.columns]
    head = [markdown(column.title) for column in table.columns]
    lines = [head, rule, *(_markdown_row(table, row) for row in table.rows)]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    note = f"\n{markdown(table.note)}\n" if table.note else ""
    return f"**{markdown(table.title)}**\n\n{body}\n{note}"


def _markdown_row(table: Table, row: Sequence[str]) -> list[str]:
    cells = [markdown(cell) for cell in row]
    return [f"**{cell}**" if cell else "" for cell in cells] if row[0] in table.emphasis else cells


def _latex(table: Table) -> str:
    """Renders a floating table; the document needs `\\usepackage{booktabs}`."""
    layout = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(latex(column.title) for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.title)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(rf"{' & '.join(_latex_row(table, row))} \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\footnotesize {latex(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(table: Table, row: Sequence[str]) -> list[str]:
    cells = [latex(cell) for cell in row]
    if row[0] in table.emphasis:
        return [rf"\textbf{{{cell}}}" if cell else "" for cell in cells]
    # A row whose first cell is `[…]` would be read as the argument of the \\ before it.
    return ["{}" + cells[0], *cells[1:]] if cells and cells[0].startswith("[") else cells


def _csv(table: Table) -> str:
    """Renders a table below its title, without thousands separators; titles and labels have the units."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(one_line(table.title))])
    for row in (tuple(column.title for column in table.columns), *table.rows):
        cells = zip(table.columns, map(one_line, row), strict=True)
        writer.writerow([csv_cell(_THOUSANDS.sub("", cell) if column.numeric else cell) for column, cell in cells])
    return text.getvalue()


_RENDERERS: Final[dict[TableFormat, Callable[[Table], str]]] = {
    TableFormat.MARKDOWN: _markdown,
    TableFormat.LATEX: _latex,
    TableFormat.CSV: _csv,
}
