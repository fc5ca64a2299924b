# SPDX-License-Identifier: Apache-2.0
"""A table's capacity with all that led to it, in the columns of the source papers."""

from __future__ import annotations

from typing import Final

from natxy.report.tables.statistics_rows import MEDIAN
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord

_FIGURES: Final = {"c0": "C0", "r0": "R0", "cs": "CS", "rs": "RS", "ct": "CT", "capacity": "C"}


def capacity_table(experiment: ExperimentRecord) -> Table | None:
    """None where nothing was found."""
    units = {figure.name: figure.unit for figure in experiment.declaration.figures}
    found = experiment.figure_statistics | (
        {experiment.declaration.headline().name: experiment.statistics} if experiment.statistics else {}
    )
    if experiment.statistics is None or not set(_FIGURES) <= set(units):
        return None
    picks = ((MEDIAN, "median"), ("Minimum", "minimum"), ("Maximum", "maximum"))

    def shown(name: str, pick: str) -> str:
        summary = found.get(name)
        # Not all of them had a number of connections that was too large.
        if summary is None or summary.count < found["capacity"].count:
            return wording.ABSENT
        if pick == "median":
            return wording.bounded(summary.bounded_median, units[name])
        return wording.bounded(summary.bounded(getattr(summary, pick)), units[name])

    rows = tuple((label, *(shown(name, pick) for name in _FIGURES)) for label, pick in picks)
    head = (Column(""), *(Column(title, numeric=True) for title in _FIGURES.values()))
    title = f"{experiment.title}: numbers of connections (C) and connections/s (R)"
    return Table(title, head, rows, frozenset({MEDIAN}))
