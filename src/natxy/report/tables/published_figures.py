# SPDX-License-Identifier: Apache-2.0
"""Tables of figures that others published, which a plan names for comparison with its own results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from natxy.plan.model.units import Unit
from natxy.published import PublishedTable, published_names, published_table
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import RunRecord

# Wider tables are transposed, so that a terminal has room for them.
_MOST_COLUMNS: Final = 8
_LARGE: Final = 10_000


@dataclass(frozen=True)
class PublishedFigures:
    """Holds a table, and as `source` who published it, where, and on which hardware it was measured."""

    table: Table
    source: str


def published_figures(run: RunRecord, *, narrow: bool = False) -> list[PublishedFigures]:
    """Returns the tables that the run's plan names, with `narrow` for a terminal."""
    # A run of another version may name a table that is no longer there.
    names = [name for name in run.plan.get("published", []) if name in published_names()]
    return [_figures(published_table(name), _short if narrow else _in_full) for name in names]


def _figures(published: PublishedTable, show: Callable[[float], str]) -> PublishedFigures:
    numeric = [all(not isinstance(row[i], str) for row in published.rows) for i in range(len(published.columns))]
    columns = tuple(Column(title, is_number) for title, is_number in zip(published.columns, numeric, strict=True))
    rows = tuple(tuple(cell if isinstance(cell, str) else show(cell) for cell in row) for row in published.rows)
    table = Table(f"Published: {published.title}", columns, rows)
    if len(columns) > _MOST_COLUMNS:
        turned = table.transposed()
        table = replace(turned, columns=(Column(columns[0].title), *turned.columns[1:]))
    source = f"{published.source}, {published.where}. Measured on: {published.setup}. {published.note}"
    return PublishedFigures(table, source.strip())


def _in_full(value: float) -> str:
    return f"{value:,.10g}"


def _short(value: float) -> str:
    return _in_full(value) if value < _LARGE else wording.short(value, Unit.FPS)
