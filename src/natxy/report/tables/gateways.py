# SPDX-License-Identifier: Apache-2.0
"""The table of gateways side by side, with a row for each gateway and kind of traffic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from natxy.plan.model.units import Unit
from natxy.plan.procedures import DECLARATIONS
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, states, wording
from natxy.results.analysis.gateways import GatewayName, GatewayRow, SideBySide, side_by_side
from natxy.results.records import ExperimentRecord, RunRecord, State
from natxy.results.statistics import Summary

TITLE: Final = "Gateways side by side"
OTHER_KERNELS: Final = "Neither rates nor percentages on different kernels can be compared."
_BASELINE: Final = "Of the baseline"
# Stands for the marks of a result, which have no room in a narrow cell.
_STAR: Final = "*"
# The figures that a procedure shows besides its headline.
_MORE_FIGURES: Final = {"latency": ("wcl",), "ndr-pdr": ("partial_drop_rate",)}
_NARROW: Final = {
    "throughput": ("fps",), "ndr-pdr": ("NDR fps", "PDR fps"), "latency": ("TL ms", "WCL ms"),
    "connection-rate": ("cps",), "validated-connection-rate": ("cps",), "tear-down-rate": ("torn/s",),
    "table-capacity": ("table",), "dns64-rate": ("qps",),
}  # fmt: skip


def gateways_table(run: RunRecord, *, narrow: bool = False) -> Table | None:
    """Returns a table of medians, with `narrow` one that fits into a terminal; None if no gateways can be compared."""
    compared = side_by_side(run)
    if compared is None:
        return None
    full = _table(compared, run, narrow=narrow, gap=" ")
    return replace(full, narrower=_table(compared, run, narrow=True, gap="")) if narrow else full


def _table(compared: SideBySide, run: RunRecord, *, narrow: bool, gap: str) -> Table:
    """Returns the table; without `gap`, its ratios have no intervals."""
    based = {row.experiments[name].procedure for name in compared.procedures for row in compared.rows
             if name in row.experiments and row.experiments[name].baseline}  # fmt: skip
    columns = [Column("Gateway")] if narrow else [Column("Gateway"), Column("Traffic")]
    if len(compared.kernels) > 1:
        columns.append(Column("kernel" if narrow else "Kernel"))
    for name in compared.procedures:
        columns += [Column(title, numeric=True) for title in _titles(name, narrow=narrow)]
        if name in based:
            columns.append(Column("base" if narrow else _BASELINE, numeric=True))
    rows = tuple(_row(row, compared, based, run, narrow=narrow, gap=gap) for row in compared.rows)
    measured = [experiment for row in compared.rows for experiment in row.experiments.values()]
    table = Table(f"{TITLE}, medians", tuple(columns), rows, note=headlines.ratios_note(measured))
    marks = dict.fromkeys(mark for each in measured for mark in headlines.marks(each))
    return table.with_note(f"{_STAR} {' or '.join(marks)}") if narrow and marks else table


def label(row: GatewayName) -> str:
    return ", ".join((row.driver, *row.variant))


def short_kernel(row: GatewayName) -> str:
    if not row.kernel:
        return wording.ABSENT
    return "user-mode" if row.kernel.startswith("user-mode") else "own"


def _titles(procedure: str, *, narrow: bool) -> Iterator[str]:
    declaration = DECLARATIONS[procedure]
    if narrow:
        yield from _NARROW.get(procedure, (procedure,))
        return
    headline = declaration.headline()
    yield f"{headline.title}, {wording.unit(headline.unit)}"
    for name in _MORE_FIGURES.get(procedure, ()):
        figure = next(figure for figure in declaration.figures if figure.name == name)
        yield f"{figure.title}, {wording.unit(figure.unit)}"


def _row(
    row: GatewayRow, compared: SideBySide, based: set[str], run: RunRecord, *, narrow: bool, gap: str
) -> tuple[str, ...]:
    cells = [f"{label(row)}, {row.traffic}"] if narrow else [label(row), row.traffic]
    if len(compared.kernels) > 1:
        cells.append(short_kernel(row) if narrow else row.kernel or wording.ABSENT)
    for procedure in compared.procedures:
        experiment = row.experiments.get(procedure)
        more = _MORE_FIGURES.get(procedure, ())
        if experiment is None:
            cells += [wording.ABSENT] * (1 + len(more) + (procedure in based))
            continue
        cells.append(_headline(experiment, narrow=narrow))
        figures = experiment.figure_statistics
        cells += [_shown(figures[name], Unit.NS, narrow=narrow) if name in figures else wording.ABSENT for name in more]
        if procedure in based:
            cells.append(_share(experiment, run, gap))
    return tuple(cells)


def _headline(experiment: ExperimentRecord, *, narrow: bool) -> str:
    if experiment.statistics is None:
        return wording.ABSENT if experiment.state is State.DONE else states.STATE_WORDS[experiment.state]
    mark = headlines.short_mark(experiment)
    return _shown(experiment.statistics, experiment.unit, narrow=narrow) + (_STAR if narrow and mark else mark)


def _shown(summary: Summary, unit: str, *, narrow: bool) -> str:
    """Writes a median; the tables of results have it in full."""
    if unit == Unit.NS:
        return summary.bounded_median.text(_milliseconds, gap="" if narrow else " ")
    if not narrow:
        return wording.bounded(summary.bounded_median, unit)
    return summary.bounded_median.text(lambda value: wording.short(value, unit), gap="")


def _milliseconds(value_ns: float) -> str:
    return f"{value_ns / 1e6:.3g}"


def _share(experiment: ExperimentRecord, run: RunRecord, gap: str) -> str:
    """Returns the share of the baseline; a baseline itself is 100 %."""
    if any(other.planned.baseline == experiment.name for other in run.experiments) and experiment.statistics:
        return wording.percent(100)
    return headlines.baseline_ratio(experiment, gap) or wording.ABSENT
