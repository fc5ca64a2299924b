# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from natxy.published import published_names, published_table
from natxy.report.tables.table import Column, Table, to_rich


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="has 2 columns, a row has 1 cells"):
        Table("t", (Column("a"), Column("b")), (("1", "2"), ("3",)))


def test_cells_are_text_and_never_markup() -> None:
    output = io.StringIO()
    table = Table("[red]t[/red]", (Column("[b]a[/b]"),), (("[bold]x[/bold] [/nothing]",),))
    Console(file=output, width=80).print(to_rich(table))
    assert "[red]t[/red]" in output.getvalue()
    assert "[b]a[/b]" in output.getvalue()
    assert "[bold]x[/bold] [/nothing]" in output.getvalue()


def test_control_characters_are_seen_whole() -> None:
    output = io.StringIO()
    table = Table("t", (Column("a"), Column("n", numeric=True)), (("x \x1b]0;y\x07", "1"),))
    Console(file=output, width=60).print(to_rich(table))
    assert r"x \x1b]0;y\x07" in output.getvalue()


def test_transposed_rows_are_columns() -> None:
    table = Table("t", (Column("Cores"), Column("1"), Column("2")), (("min", "3", "4"), ("max", "5", "6")))
    turned = table.transposed()
    assert [column.title for column in turned.columns] == ["Cores", "min", "max"]
    assert turned.rows == (("1", "3", "5"), ("2", "4", "6"))


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", published_names())
def test_no_width_costs_a_cell(name: str, width: int) -> None:
    published = published_table(name)
    cells = [[f"{cell:,}" if isinstance(cell, int | float) else cell for cell in row] for row in published.rows]
    columns = tuple(Column(title, numeric=index > 0) for index, title in enumerate(published.columns))
    output = io.StringIO()
    Console(file=output, width=width).print(to_rich(Table("t", columns, tuple(map(tuple, cells)))))
    text = output.getvalue()
    assert max(map(len, text.splitlines())) <= width
    words = set(text.split())
    assert [cell for row in cells for cell in row[1:] if not set(cell.split()) <= words] == []
    assert [word for title in published.columns[1:] for word in title.split() if word not in words] == []


@pytest.mark.parametrize(("columns", "drawn"), [(2, "full"), (4, "short"), (9, "full")])
def test_a_narrower_table_is_drawn_if_it_alone_fits(columns: int, drawn: str) -> None:
    # Four columns of 22 characters are too wide, and so are nine of 10.
    head = tuple(Column(f"{index}", numeric=True) for index in range(columns))
    full, short = (Table("t", head, ((word * 2,) * columns,)) for word in ("fullfullfull", "short"))
    output = io.StringIO()
    Console(file=output, width=80).print(to_rich(replace(full, narrower=short)))
    assert drawn in output.getvalue()
    assert {"full": "short", "short": "full"}[drawn] not in output.getvalue()
