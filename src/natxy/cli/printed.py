# SPDX-License-Identifier: Apache-2.0
"""What `--format` takes: tables for papers and spreadsheets, or rows for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from natxy.report.tables.table import Table
from natxy.report.text.formats import TableFormat, render
from natxy.results.rows import Row, to_csv


class PrintedFormat(StrEnum):
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV_TABLES = "csv-tables"
    CSV = "csv"


def printed(form: PrintedFormat, tables: Iterable[Table], rows: Iterable[Row]) -> str:
    return to_csv(rows) if form is PrintedFormat.CSV else render(tables, TableFormat(form.value))
