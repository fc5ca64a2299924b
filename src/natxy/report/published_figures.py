# SPDX-License-Identifier: Apache-2.0
"""What others published on the same question, as tables to stand beside the run's own; never among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ruamel.yaml import YAML

from natxy.published import PublishedTable, published_names, published_table
from natxy.report.tables import Column, Table
from natxy.results.records import RunRecord

# As the measured cells beside them, and a terminal has room for them.
_MOST_COLUMNS: Final = 8


@dataclass(frozen=True)
class PublishedFigures:
    """`source`: who published them, where, and what they were measured on."""

    table: Table
    source: str


def published_figures(run: RunRecord) -> list[PublishedFigures]:
    """Those that the run's plan names."""
    plan = YAML(typ="safe").load(run.plan_yaml)
    # A run of another version may name a table that is no longer there.
    names = [name for name in plan.get("published", []) if name in published_names()]
    return [_figures(published_table(name)) for name in names]


def _figures(published: PublishedTable) -> PublishedFigures:
    numeric = [all(not isinstance(row[i], str) for row in published.rows) for i in range(len(published.columns))]
    columns = tuple(Column(title, is_number) for title, is_number in zip(published.columns, numeric, strict=True))
    rows = tuple(tuple(map(_cell, row)) for row in published.rows)
    source = f"{published.source}, {published.where}. Measured on: {published.setup}. {published.note}"
    table = Table(f"Published: {published.title}", columns, rows)
    return PublishedFigures(table.transposed() if len(columns) > _MOST_COLUMNS else table, source.strip())


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.10g}"
