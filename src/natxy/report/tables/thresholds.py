# SPDX-License-Identifier: Apache-2.0
"""The table of thresholds and answers."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.report.tables.table import Column, Table
from natxy.report.words import thresholds
from natxy.results.analysis.gate import Judged

_COLUMNS = (
    Column("Experiment"),
    Column("Figure"),
    Column("Expected"),
    Column("Found, 95 %", numeric=True),
    Column("Answer"),
)


def threshold_table(judged: Sequence[Judged]) -> Table:
    rows = tuple(
        (each.experiment.title, each.figure.title, thresholds.expected(each), thresholds.found(each),
         thresholds.answer(each))
        for each in judged
    )  # fmt: skip
    return Table("Thresholds", _COLUMNS, rows)
