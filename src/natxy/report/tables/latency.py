# SPDX-License-Identifier: Apache-2.0
"""Typical and worst case latency side by side, each direction on its own (RFC 8219 §7.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.plan.model.units import Unit, format_quantity
from natxy.plan.procedures.figures import STREAMS
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord, RunRecord

_FIGURES: Final = {"tl": "TL", "wcl": "WCL"}
_TITLE: Final = "Typical (TL) and worst case latency (WCL), medians, ms"


def latency_tables(run: RunRecord) -> Iterator[Table]:
    """One, or none where no latency was measured."""
    measured = [experiment for experiment in run.experiments if _has_both(experiment)]
    directions = {experiment.planned.directions for experiment in measured}
    streams = [stream for stream in STREAMS if directions - {*STREAMS} or stream in directions]
    titles = (f"{short} {stream}" for stream in streams for short in _FIGURES.values())
    rows = tuple((experiment.title, *_cells(experiment, streams)) for experiment in measured)
    if rows:
        yield Table(_TITLE, (Column("Experiment"), *(Column(title, numeric=True) for title in titles)), rows)


def latency_lines(experiment: ExperimentRecord) -> tuple[str, ...]:
    """`forward: TL 31.4 µs, WCL 42 µs`, for a card; none where no latency was measured."""
    lines = []
    for stream in STREAMS:
        found = {short: experiment.figure_statistics.get(f"{name}_{stream}") for name, short in _FIGURES.items()}
        told = [
            f"{short} {s.bounded_median.text(lambda v: format_quantity(v, Unit.NS))}" for short, s in found.items() if s
        ]
        if _has_both(experiment) and told:
            lines.append(f"{stream}: {', '.join(told)}")
    return tuple(lines)


def _in_unit(value_ns: float) -> str:
    return format_quantity(value_ns, Unit.NS)


def _has_both(experiment: ExperimentRecord) -> bool:
    return set(_FIGURES) <= {figure.name for figure in experiment.declaration.figures}


def _cells(experiment: ExperimentRecord, streams: Sequence[str]) -> Iterator[str]:
    for stream in streams:
        for name in _FIGURES:
            summary = experiment.figure_statistics.get(f"{name}_{stream}")
            yield wording.bounded(summary.bounded_median, Unit.NS) if summary else wording.ABSENT
