# SPDX-License-Identifier: Apache-2.0
"""Prints what `--format` selects: tables for papers and spreadsheets, or CSV rows for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from natxy.export.rows import Row
    from natxy.report.tables.table import Table


class PrintedFormat(StrEnum):
    """`csv-tables`: the tables as CSV. `csv`: a row for each figure."""

    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV_TABLES = "csv-tables"
    CSV = "csv"


def printed(form: PrintedFormat, tables: Iterable[Table], rows: Iterable[Row]) -> str:
    """Returns the tables, or for `csv` the rows, as text."""
    from natxy.export.rows import to_csv
    from natxy.report.text.formats import TableFormat, render

    return to_csv(rows) if form is PrintedFormat.CSV else render(tables, TableFormat(form.value))
