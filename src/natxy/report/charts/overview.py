# SPDX-License-Identifier: Apache-2.0
"""The picture that a report opens with: the result of every experiment that is not a cell of a sweep.

It is a chart for each unit, and for gateways side by side a chart for each procedure. Sweeps have charts of their own,
against the swept values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.plan.model.units import Unit
from natxy.plan.procedures import DECLARATIONS
from natxy.report.charts.chart import Chart
from natxy.report.charts.gateways import gateways_charts
from natxy.report.charts.intervals import Entry, interval_charts
from natxy.report.words.tester import doubt
from natxy.results.analysis.gateways import side_by_side
from natxy.results.records import ExperimentRecord, RunRecord

OVERVIEW_NOTE: Final = (
    "A dot is a repetition, the first at the top and the last at the bottom; a triangle is one that is only a bound, "
    "and points to where the truth is. The line is their median; the band, and the numbers in [ ], are the 95 % "
    "confidence interval; the notes below the tables name its method. A percentage is the ratio to the baseline."
)

_TITLES: Final = {
    Unit.FPS: "Frame rates",
    Unit.CPS: "Connection rates",
    Unit.QPS: "Query rates",
    Unit.BPS: "Goodput",
    Unit.HZ: "Speeds",
    Unit.NS: "Delays",
    Unit.SECONDS: "Times",
    Unit.FRAMES: "Frames",
    Unit.SEGMENTS: "Segments",
    Unit.CONNECTIONS: "Connections",
    Unit.BINDINGS_PER_S: "Changes of bindings",
    Unit.INSTRUCTIONS: "Instructions",
    Unit.CYCLES: "Cycles",
    Unit.PERCENT: "Shares",
}


def overview_charts(run: RunRecord) -> Iterator[Chart]:
    """Yields nothing if no experiment has a result that could be drawn."""
    if not any(experiment.statistics for experiment in run.experiments if experiment.sweep is None):
        return
    compared = side_by_side(run)
    elsewhere: set[int] = set()
    if compared:
        yield from gateways_charts(run, compared)
        elsewhere = {each.id for row in compared.rows for each in row.experiments.values()}
    for unit, experiments in _by_unit(
        [e for e in run.experiments if e.sweep is None and e.id not in elsewhere]
    ).items():
        entries = [Entry(each.title, each, doubt=doubt(run, each)) for each in experiments]
        yield from interval_charts(f"00-overview-{unit.name.lower()}", _title(unit, experiments), entries)


def _by_unit(experiments: Sequence[ExperimentRecord]) -> dict[Unit, list[ExperimentRecord]]:
    """Returns the units in the order of the procedures' list, and the experiments of each in the plan's order."""
    order = list(DECLARATIONS)
    found: dict[Unit, list[ExperimentRecord]] = {}
    for experiment in sorted(experiments, key=lambda each: order.index(each.procedure)):
        found.setdefault(experiment.unit, []).append(experiment)
    return {unit: sorted(each, key=lambda experiment: experiment.id) for unit, each in found.items()}


def _title(unit: Unit, experiments: Sequence[ExperimentRecord]) -> str:
    """Returns the title of the headline if all experiments have the same."""
    titles = {experiment.declaration.headline().title for experiment in experiments}
    return titles.pop() if len(titles) == 1 else _TITLES[unit]
