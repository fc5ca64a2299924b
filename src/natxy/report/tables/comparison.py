# SPDX-License-Identifier: Apache-2.0
"""Tables that compare several runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, wording
from natxy.results.analysis.compare import SHARE_OF_BASELINE, Compared, Comparison, Key, key
from natxy.results.analysis.sweeps import shared_fields
from natxy.results.bounded import Bounded
from natxy.results.records import ExperimentRecord

_COLUMNS = (
    Column("Experiment"),
    Column("Run", numeric=True),
    Column("Median", numeric=True),
    Column("N", numeric=True),
    Column("Difference, 95 %", numeric=True),
    Column("Verdict"),
)

NOT_IN_EVERY_RUN: Final = "Not in every run"


def figures(comparison: Comparison) -> list[Table]:
    """Returns a table for each figure, with a row for each experiment and run."""
    names = _names([one[0].experiment for one in comparison.figures])
    groups: dict[str, list[Compared]] = {}
    for compared in comparison.figures:
        if any(one.summary for one in compared):
            figure = compared[0].figure
            groups.setdefault(f"{figure.title}, {wording.unit(figure.unit)}", []).extend(compared)
    return [
        Table(title, _COLUMNS, tuple(_row(compared, names) for compared in group)) for title, group in groups.items()
    ]


def _names(experiments: Sequence[ExperimentRecord]) -> dict[Key, str]:
    """Returns the titles of the experiments, and for cells of a sweep names such as `nat44: CPU cores 2`."""
    cells: dict[str, list[ExperimentRecord]] = {}
    for experiment in experiments:
        cells.setdefault(experiment.sweep or "", []).append(experiment)
    names = {}
    for sweep, own in cells.items():
        fields = shared_fields(own)
        differing = [field for field in fields if len({experiment.cell[field] for experiment in own}) > 1] or fields
        for experiment in own:
            coordinates = wording.cell(differing, experiment.cell)
            names[key(experiment)] = f"{sweep}: {coordinates}" if sweep else experiment.title
    return names


def settings(comparison: Comparison, runs: int) -> Table:
    """Returns a table of the settings that differ between the runs."""
    columns = (Column("Experiment"), Column("Setting"), *(Column(f"Run {number + 1}") for number in range(runs)))
    rows = tuple(
        (title, field, *(wording.ABSENT if value is None else value for value in values))
        for title, fields in comparison.settings.items()
        for field, values in fields.items()
    )
    return Table("Settings that differ", columns, rows)


def unmatched_table(comparison: Comparison) -> Table:
    return Table(NOT_IN_EVERY_RUN, (Column("Experiment"),), tuple((line,) for line in unmatched(comparison)))


def unmatched(comparison: Comparison) -> Iterator[str]:
    """Yields a line for every experiment, and every share of a baseline, that is not in all runs."""
    for experiment, runs in comparison.unmatched:
        yield _only_in(experiment, experiment.procedure, runs)
    for experiment, runs in comparison.unmatched_shares:
        yield _only_in(experiment, SHARE_OF_BASELINE.title.lower(), runs)


def _only_in(experiment: ExperimentRecord, what: str, runs: Sequence[int]) -> str:
    cell = ", ".join(f"{name} {value}" for name, value in experiment.cell.items())
    name = experiment.sweep or experiment.name
    return f"{name} ({f'{cell}, ' if cell else ''}{what}): only in run {', '.join(str(run + 1) for run in runs)}"


def _row(compared: Compared, names: Mapping[Key, str]) -> tuple[str, ...]:
    unit, summary = compared.figure.unit, compared.summary
    median = wording.bounded(summary.bounded_median, unit) if summary else wording.ABSENT
    return (
        names[key(compared.experiment)] + headlines.short_mark(compared.experiment),
        str(compared.run + 1),
        median,
        str(summary.count if summary else 0),
        _difference(compared),
        _verdict(compared),
    )


def _verdict(compared: Compared) -> str:
    if compared.unlike:
        return f"{compared.verdict}: {', '.join(compared.unlike)}"
    return compared.verdict or ""


def _difference(compared: Compared) -> str:
    if compared.run == 0:
        return ""
    if compared.difference_percent is not None:
        shown = Bounded(compared.difference_percent, compared.bound).text(lambda value: f"{_signed(value)} %")
        return shown + wording.ends(compared.interval_percent, _signed)
    if compared.difference is not None:
        unit = compared.figure.unit
        signed = functools.partial(_signed, show=lambda value: wording.quantity(value, unit))
        return Bounded(compared.difference, compared.bound).text(signed) + wording.ends(compared.interval, signed)
    return wording.ABSENT


def _signed(value: float, show: Callable[[float], str] = lambda value: f"{value:.1f}") -> str:
    return ("−" if value < 0 else "+") + show(abs(value))
