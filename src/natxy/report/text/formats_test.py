# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from natxy.report.tables.table import Column, Table
from natxy.report.text.formats import TableFormat, render

TABLE = Table(
    "Throughput, frames/s per direction",
    (Column(""), Column("NAT44 & more", numeric=True)),
    (("Median", "≥ 254,000"), ("Min_1", "43.7 %")),
    emphasis=frozenset({"Median"}),
)
TEXT = st.text(st.characters(exclude_categories=("C", "Z")), max_size=12)


def test_markdown() -> None:
    assert render([TABLE], TableFormat.MARKDOWN).splitlines() == [
        "**Throughput, frames/s per direction**",
        "",
        r"|  | NAT44 \& more |",
        "| :-- | --: |",
        "| **Median** | **≥ 254,000** |",
        r"| Min\_1 | 43.7 % |",
    ]


def test_latex() -> None:
    text = render([TABLE], TableFormat.LATEX)
    assert r"\begin{tabular}{lr}" in text
    assert r" & NAT44 \& more \\" in text
    assert r"\textbf{Median} & \textbf{$\geq$ 254,000} \\" in text
    assert r"Min\_1 & 43.7 \% \\" in text


def test_csv() -> None:
    assert render([TABLE, TABLE], TableFormat.CSV).split("\n\n")[0].splitlines() == [
        '"Throughput, frames/s per direction"',
        ",NAT44 & more",
        "Median,≥ 254000",
        "Min_1,43.7 %",
    ]


@given(rows=st.lists(st.tuples(TEXT, st.integers(min_value=0)), max_size=4))
@example(rows=[("@", 0)])
@example(rows=[("＝1", 1)])
def test_csv_is_read_as_what_the_table_shows(rows: list[tuple[str, int]]) -> None:
    table = Table("t", (Column("a"), Column("b", numeric=True)), tuple((text, f"{value:,}") for text, value in rows))
    read = [*csv.reader(io.StringIO(render([table], TableFormat.CSV)))]
    assert read[0] == ["t"]
    assert [int(value) for _, value in read[2:]] == [value for _, value in rows]
    for (text, _), (cell, _) in zip(rows, read[2:], strict=True):
        may_be_a_formula = text.lstrip().startswith(tuple("=+-@＝＋－＠"))
        assert cell == text or (may_be_a_formula and cell == f"'{text}")


def test_tables_follow_each_other_after_an_empty_line() -> None:
    one = render([TABLE], TableFormat.LATEX)
    assert render([TABLE, TABLE], TableFormat.LATEX) == f"{one}\n{one}"


@given(cells=st.lists(TEXT, min_size=1, max_size=4))
def test_a_cell_survives_whatever_it_holds(cells: list[str]) -> None:
    table = Table("t", tuple(Column(f"c{number}") for number in range(len(cells))), (tuple(cells),))
    tokens = MarkdownIt("commonmark").enable("table").parse(render([table], TableFormat.MARKDOWN))
    body = next(number for number, token in enumerate(tokens) if token.type == "tbody_open")
    shown = ["".join(c.content for c in token.children or []) for token in tokens[body:] if token.type == "inline"]
    assert shown == cells


@pytest.mark.parametrize("hostile", ["\\input{x}", "a & b", "100 % $x_1^2$ #~", "[2ex]", "{", "<script>"])
def test_latex_reads_no_cell_as_a_command(hostile: str) -> None:
    table = Table("t", (Column("a"), Column("b")), (("x", "y"), (hostile, hostile)))
    row = render([table], TableFormat.LATEX).split("\n")[8]
    left = re.sub(r"\\text\w+\{\}|\\[{}$&#%_]", "", row.removesuffix(r" \\"))
    assert left.count("&") == 1
    assert not re.search(r"[\\$#%_^~<>]|^\[", left)
