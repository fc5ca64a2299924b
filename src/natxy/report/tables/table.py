# SPDX-License-Identifier: Apache-2.0
"""The model of a table, and its rendering for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich import box
from rich import table as rich_table
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from natxy.untrusted.texts import plain

# Longer words of a text that is not a number may break.
_LONGEST_WORD: Final = 24
# The space that `_drawn` leaves beside a column, and the frame's.
_BETWEEN: Final = 2


@dataclass(frozen=True)
class Column:
    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """Holds rows with a cell for each column; cells are plain text, never markup.

    `emphasis` has the first cells of the rows that matter most. `note` is a sentence below the table.
    `narrower` has shorter cells, for a console that is wide enough for it and not for this table.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: frozenset[str] = frozenset()
    note: str = ""
    narrower: Table | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns, a row has {len(row)} cells")

    def with_note(self, sentence: str) -> Table:
        """Returns the table with a further sentence below it, if the sentence is not empty."""
        return replace(self, note=" ".join(filter(None, (self.note, sentence))))

    def titled(self, title: str) -> Table:
        """Returns the table with another title."""
        return replace(self, title=title)

    def transposed(self) -> Table:
        """Returns the table with its columns as rows; the cells of the first column become titles."""
        head = (Column(self.columns[0].title, numeric=True), *(Column(row[0], numeric=True) for row in self.rows))
        columns = zip(*(row[1:] for row in self.rows), strict=True)
        rows = tuple((column.title, *cells) for column, cells in zip(self.columns[1:], columns, strict=True))
        return Table(self.title, head, rows, note=self.note)


def to_rich(table: Table) -> RenderableType:
    """Returns the table for a console; a table that is too wide continues below, with its first column repeated."""
    return _Fitted(_plain(table))


def _plain(table: Table) -> Table:
    """Returns the table as a console prints it, so that widths are those of what is seen."""
    return replace(
        table,
        columns=tuple(replace(column, title=plain(column.title)) for column in table.columns),
        rows=tuple(tuple(map(plain, row)) for row in table.rows),
        emphasis=frozenset(map(plain, table.emphasis)),
        narrower=_plain(table.narrower) if table.narrower else None,
    )


def fitting(table: Table, width: int) -> Iterator[tuple[Table, list[int]]]:
    """Yields parts of the table that fit into `width` characters with whole numbers, and their column widths."""
    least = [_least(table, index) for index in range(len(table.columns))]
    part = [0]
    for index in range(1, len(least)):
        if len(part) > 1 and _drawn_width([least[i] for i in (*part, index)]) > width:
            yield _part(table, part, least, width)
            part = [0]
        part.append(index)
    yield _part(table, part, least, width)


def _part(table: Table, chosen: list[int], least: list[int], width: int) -> tuple[Table, list[int]]:
    columns = tuple(table.columns[i] for i in chosen)
    rows = tuple(tuple(row[i] for i in chosen) for row in table.rows)
    widths = [least[i] for i in chosen]
    spare = width - _drawn_width(widths)
    for position, index in enumerate(chosen):
        more = max(0, min(_natural(table, index) - widths[position], spare))
        widths[position] += more
        spare -= more
    return replace(table, columns=columns, rows=rows), widths


def _least(table: Table, index: int) -> int:
    """Returns the least width of a column, in which words, and numbers with their units, stay whole."""
    column = table.columns[index]
    cells = [row[index] for row in table.rows]
    words = [word for text in (column.title, *(() if column.numeric else cells)) for word in text.split()]
    longest = max(map(len, words), default=1)
    if column.numeric:
        return max(longest, *map(len, cells), 1)
    # Names of cells are long words that may break.
    return min(longest, _LONGEST_WORD)


def _natural(table: Table, index: int) -> int:
    return max(map(len, (table.columns[index].title, *(row[index] for row in table.rows))))


def _drawn_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(widths) * _BETWEEN


class _Fitted:
    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # The table itself may be narrower than its title.
        yield Text(self._table.title, style="bold")
        whole, *below = fitting(self._table, options.max_width)
        if below and self._table.narrower:
            narrower, *rest = fitting(self._table.narrower, options.max_width)
            whole, below = (whole, below) if rest else (narrower, rest)
        for part, widths in (whole, *below):
            yield _drawn(part, widths)
        if self._table.note:
            yield Text(self._table.note, style="dim")


def _drawn(table: Table, widths: Sequence[int]) -> rich_table.Table:
    shown = rich_table.Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        # Nine columns have to fit into 80 characters and leave words of the first one whole.
        padding=(0, 1, 0, 0),
    )
    for column, width in zip(table.columns, widths, strict=True):
        shown.add_column(
            Text(column.title), justify="right" if column.numeric else "left", overflow="fold", width=width
        )
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row), style="bold" if row[0] in table.emphasis else None)
    return shown
