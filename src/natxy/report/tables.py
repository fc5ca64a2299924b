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
    """Every row has a cell for every column; cells are plain text, never markup. `emphasis`: the first cells of the
    rows that matter most."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns, a row has {len(row)} cells")

    def transposed(self) -> Table:
        """Columns as rows; the first column's cells become titles."""
        head = (Column(self.columns[0].title, numeric=True), *(Column(row[0], numeric=True) for row in self.rows))
        columns = zip(*(row[1:] for row in self.rows), strict=True)
        rows = tuple((column.title, *cells) for column, cells in zip(self.columns[1:], columns, strict=True))
        return Table(self.title, head, rows)


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
        shown.add_row(*(Text(cell) for cell in row), style="bold" if row[0] in table.emphasis else None)
    return shown
