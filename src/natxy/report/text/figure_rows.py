# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: a row a figure, with plain numbers in base units and bounds in columns of their own."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from natxy.results.bounded import Bounded
from natxy.results.compare import Comparison
from natxy.results.computed import computed
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary

Cell = str | int | float | None
Row = dict[str, Cell]

_STATISTICS: Final[dict[str, Callable[[Summary], Bounded | None]]] = {
    "median": lambda summary: summary.bounded_median,
    "mean": lambda summary: summary.bounded_mean,
    "p1": lambda summary: summary.bounded(summary.p1),
    "p99": lambda summary: summary.bounded(summary.p99),
    "minimum": lambda summary: summary.bounded(summary.minimum),
    "maximum": lambda summary: summary.bounded(summary.maximum),
}
_SETTINGS: Final = {
    "frame_size": "frame_size_bytes", "directions": "directions", "cores": "cores", "connections": "connections",
    "flows": "flows", "alpha": "alpha",
}  # fmt: skip


def run_rows(run: RunRecord) -> Iterator[Row]:
    """A row a figure of every experiment, also of those without a result; an experiment's first is its headline."""
    coordinates = dict.fromkeys(field for experiment in run.experiments for field in experiment.cell)
    columns = computed(run)
    for experiment in run.experiments:
        cell = {f"cell {field}": experiment.cell.get(field) for field in coordinates}
        compared = columns[experiment.id].columns()
        for number, figure in enumerate(experiment.declaration.figures):
            is_headline = number == 0
            summary = experiment.statistics if is_headline else experiment.figure_statistics.get(figure.name)
            yield {
                **_named(experiment),
                **cell,
                "state": experiment.state.value,
                "figure": figure.name,
                "unit": figure.unit.value,
                "repetitions": summary.count if summary else 0,
                **_statistics(summary),
                **{name: value if is_headline else None for name, value in compared.items()},
            }


def comparison_rows(comparison: Comparison) -> Iterator[Row]:
    """A row a figure and run."""
    coordinates = dict.fromkeys(field for (first, *_) in comparison.figures for field in first.experiment.cell)
    for compared in (one for group in comparison.figures for one in group):
        experiment, figure = compared.experiment, compared.figure
        summary = compared.summary
        yield {
            **_named(experiment),
            **{f"cell {field}": experiment.cell.get(field) for field in coordinates},
            "figure": figure.name,
            "unit": figure.unit.value,
            "run": compared.run + 1,
            "repetitions": summary.count if summary else 0,
            **_bounded("median", summary.bounded_median if summary else None),
            **_bounded("spread", compared.bounded_spread),
            "difference": compared.difference,
            "difference_percent": compared.difference_percent,
            "difference_bound": compared.bound.value,
            "exceeds_spread": compared.exceeds.value if compared.exceeds else None,
        }


def to_csv(rows: Iterable[Row]) -> str:
    """Empty cells where there is nothing. `rows` all have the same columns; without any the text is empty."""
    text = io.StringIO()
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()


def _named(experiment: ExperimentRecord) -> Row:
    settings = {column: getattr(experiment.planned, name) for name, column in _SETTINGS.items()}
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "procedure": experiment.procedure,
        "gateway": experiment.gateway,
        "family": experiment.planned.family,
        **settings,
    }


def _statistics(summary: Summary | None) -> Row:
    row: Row = {}
    for name, of in _STATISTICS.items():
        row |= _bounded(name, of(summary) if summary else None)
    row["standard_deviation"] = summary.exact_deviation if summary else None
    return row | _bounded("dispersion", summary.bounded_dispersion if summary else None)


def _bounded(name: str, value: Bounded | None) -> Row:
    """Returns the columns of a value and its bound, both None without a value."""
    return {f"{name}_bound": value.bound.value if value else None, name: float(value.value) if value else None}
