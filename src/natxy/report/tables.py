# SPDX-License-Identifier: Apache-2.0
"""One model of a table, whatever it is printed as."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich import table as rich_table
from rich.text import Text


@dataclass(frozen=True)
class Column:
    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """Every row has a cell for every column; cells are plain text, never markup. `emphasis`: the first cell of the
    row that matters most."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: str | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns, a row has {len(row)} cells")


def to_rich(table: Table) -> rich_table.Table:
    shown = rich_table.Table(
        title=Text(table.title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        # Nine columns have to fit into 80 characters and leave words of the first one whole.
        padding=(0, 1, 0, 0),
    )
    for column in table.columns:
        shown.add_column(
            Text(column.title),
            justify="right" if column.numeric else "left",
            no_wrap=column.numeric,
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row), style="bold" if row[0] == table.emphasis else None)
    return shown
