# SPDX-License-Identifier: Apache-2.0
"""Tables that only some procedures have: latencies, drop rates, table capacities, and background traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.results import StreamResult
from natxy.plan.model.units import Unit, format_share
from natxy.plan.procedures.figures import STREAMS
from natxy.report.tables.statistics import MEDIAN
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.trials import TrialKind

_LATENCIES: Final = {"tl": "TL", "wcl": "WCL"}
_CAPACITIES: Final = {"c0": "C0", "r0": "R0", "cs": "CS", "rs": "RS", "ct": "CT", "capacity": "C"}


# --- latency


def latency_tables(run: RunRecord) -> Iterator[Table]:
    """Yields a table of typical and worst case latency by direction (RFC 8219 §7.2), if any was measured."""
    measured = [experiment for experiment in run.experiments if has_latencies(experiment)]
    directions = {experiment.planned.directions for experiment in measured}
    streams = [stream for stream in STREAMS if directions - {*STREAMS} or stream in directions]
    titles = (f"{short} {stream}" for stream in streams for short in _LATENCIES.values())
    rows = tuple((experiment.title, *_latencies(experiment, streams)) for experiment in measured)
    if rows:
        columns = (Column("Experiment"), *(Column(title, numeric=True) for title in titles))
        yield Table("Typical (TL) and worst case latency (WCL), medians, ms", columns, rows)


def has_latencies(experiment: ExperimentRecord) -> bool:
    """Returns whether the procedure measures typical and worst case latencies, which have a table of their own."""
    return set(_LATENCIES) <= {figure.name for figure in experiment.declaration.figures}


def _latencies(experiment: ExperimentRecord, streams: Sequence[str]) -> Iterator[str]:
    for stream in streams:
        for name in _LATENCIES:
            summary = experiment.figure_statistics.get(f"{name}_{stream}")
            yield wording.bounded(summary.bounded_median, Unit.NS) if summary else wording.ABSENT


# --- drop rates


def drop_rates_table(run: RunRecord) -> Table | None:
    """Returns the medians of the rates that searches with two goals found, with the loss that the second one allows;
    None if no experiment has such a search."""
    rows = []
    for experiment in run.experiments:
        partial_loss = experiment.planned.procedure.partial_loss_ratio
        if partial_loss is None:
            continue
        summaries = (experiment.statistics, experiment.figure_statistics.get("partial_drop_rate"))
        rates = (wording.bounded(each.bounded_median, Unit.FPS) if each else wording.ABSENT for each in summaries)
        rows.append((experiment.title, *rates, format_share(partial_loss)))
    if not rows:
        return None
    titles = ("No drop rate", "Partial drop rate", "Loss allowed")
    columns = (Column("Experiment"), *(Column(title, numeric=True) for title in titles))
    return Table("Drop rates, medians, frames per second per direction", columns, tuple(rows))


# --- capacity


def capacity_table(experiment: ExperimentRecord) -> Table | None:
    """Returns a table capacity with the steps that led to it, in the columns of the source papers.

    None for other procedures, and without a result.
    """
    units = {figure.name: figure.unit for figure in experiment.declaration.figures}
    found = experiment.figure_statistics | (
        {experiment.declaration.headline().name: experiment.statistics} if experiment.statistics else {}
    )
    if experiment.statistics is None or not set(_CAPACITIES) <= set(units):
        return None

    def shown(name: str, statistic: str) -> str:
        summary = found.get(name)
        # Not every repetition tried a number of connections that was too large.
        if summary is None or summary.count < found["capacity"].count:
            return wording.ABSENT
        if statistic == "median":
            return wording.bounded(summary.bounded_median, units[name])
        return wording.bounded(summary.bounded(getattr(summary, statistic)), units[name])

    statistics = ((MEDIAN, "median"), ("Minimum", "minimum"), ("Maximum", "maximum"))
    rows = tuple((label, *(shown(name, statistic) for name in _CAPACITIES)) for label, statistic in statistics)
    head = (Column(""), *(Column(title, numeric=True) for title in _CAPACITIES.values()))
    title = f"{experiment.title}: numbers of connections (C) and connections/s (R)"
    return Table(title, head, rows, frozenset({MEDIAN}))


# --- background traffic

_BACKGROUND_COLUMNS: Final = (
    Column("Experiment"),
    Column("Stream"),
    Column("Sent", numeric=True),
    Column("Lost", numeric=True),
    Column("Loss", numeric=True),
)


def background_tables(run: RunRecord) -> Iterator[Table]:
    """Yields a table of the losses of translated and of native traffic (RFC 8219 §5.3), if there was any native."""
    rows = tuple(row for experiment in run.experiments for row in _background(experiment))
    if rows:
        yield Table("Foreground and background apart, frames of all valid trials", _BACKGROUND_COLUMNS, rows)


def _background(experiment: ExperimentRecord) -> Iterator[tuple[str, ...]]:
    streams: dict[str, list[StreamResult]] = {}
    for _, _, trial in experiment.all_trials:
        if trial.kind == TrialKind.TRAFFIC and not trial.undecided:
            for stream in trial.result.streams:
                streams.setdefault(stream.name, []).append(stream)
    if not any(each.role == StreamRole.BACKGROUND for results in streams.values() for each in results):
        return
    for name, results in streams.items():
        planned, lost = sum(stream.planned for stream in results), sum(stream.lost for stream in results)
        yield experiment.title, name, f"{planned:,}", f"{lost:,}", wording.percent(100 * lost / planned, 4)
