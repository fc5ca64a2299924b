# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: a row a figure, with plain numbers in base units and bounds in columns of their own."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from natxy.results.compare import Comparison
from natxy.results.computed import computed
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary

Cell = str | int | float | None
Row = dict[str, Cell]

# `repr` loses no digit.
_STATISTICS: Final[dict[str, Callable[[Summary], str | None]]] = {
    "median": lambda summary: summary.shown_median(repr),
    "mean": lambda summary: summary.shown_mean(repr),
    "p1": lambda summary: summary.shown(summary.p1, repr),
    "p99": lambda summary: summary.shown(summary.p99, repr),
    "minimum": lambda summary: summary.shown(summary.minimum, repr),
    "maximum": lambda summary: summary.shown(summary.maximum, repr),
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
        bound, median = _bounded(summary.shown_median(repr) if summary else None)
        spread_bound, spread = _bounded(compared.shown_spread(repr))
        yield {
            **_named(experiment),
            **{f"cell {field}": experiment.cell.get(field) for field in coordinates},
            "figure": figure.name,
            "unit": figure.unit.value,
            "run": compared.run + 1,
            "repetitions": summary.count if summary else 0,
            "median_bound": bound,
            "median": median,
            "spread_bound": spread_bound,
            "spread": spread,
            "difference": compared.difference,
            "difference_percent": compared.difference_percent,
            "difference_bound": compared.bound.strip(),
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
    for name, shown in _STATISTICS.items():
        row[f"{name}_bound"], row[name] = _bounded(shown(summary) if summary else None)
    deviation = summary and summary.shown_deviation(repr)
    row["standard_deviation"] = float(deviation) if deviation else None
    row["dispersion_bound"], row["dispersion"] = _bounded(_dispersion(summary) if summary else None)
    return row


def _dispersion(summary: Summary) -> str:
    """(maximum − minimum) / median."""
    return summary.shown_dispersion(lambda ratio: "" if ratio is None else repr(ratio))


def _bounded(shown: str | None) -> tuple[str, float] | tuple[None, None]:
    """The bound, empty where the value is none, and the value; of `< X` that is X. None of both where nothing is."""
    if not shown:
        return None, None
    *bound, number = shown.split(" ")
    return "".join(bound), float(number)
