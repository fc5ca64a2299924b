# SPDX-License-Identifier: Apache-2.0
"""The table of thresholds and answers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from natxy.report.tables.table import Column, Table
from natxy.report.words import thresholds
from natxy.results.analysis.thresholds import Judged

_COLUMNS = (
    Column("Experiment"),
    Column("Figure"),
    Column("Expected"),
    Column("Found, 95 %", numeric=True),
    Column("Answer"),
)


def threshold_table(judged: Sequence[Judged], *, narrow: bool = False) -> Table:
    """Returns a row for each threshold. If `narrow`, the answers come without their reasons."""
    answer = attrgetter("answer") if narrow else thresholds.answer
    rows = tuple(
        (each.experiment.title, each.figure.title, thresholds.expected(each), thresholds.found(each), answer(each))
        for each in judged
    )
    return Table("Thresholds", _COLUMNS, rows)
