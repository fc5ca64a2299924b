# SPDX-License-Identifier: Apache-2.0
"""The loss of translated and of native traffic apart (RFC 8219 §5.3)."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.engine.messages.results import StreamResult, Verdict
from natxy.plan.procedures.figures import BACKGROUND_STREAMS
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord, RunRecord, TrialKind

_COLUMNS = (
    Column("Experiment"),
    Column("Stream"),
    Column("Sent", numeric=True),
    Column("Lost", numeric=True),
    Column("Loss", numeric=True),
)


def background_tables(run: RunRecord) -> Iterator[Table]:
    """One, or none where no experiment has background traffic."""
    rows = tuple(row for experiment in run.experiments for row in _rows(experiment))
    if rows:
        yield Table("Foreground and background apart, frames of all valid trials", _COLUMNS, rows)


def _rows(experiment: ExperimentRecord) -> Iterator[tuple[str, ...]]:
    streams: dict[str, list[StreamResult]] = {}
    for _, _, trial in experiment.all_trials:
        if trial.kind == TrialKind.TRAFFIC and trial.verdict != Verdict.INVALID:
            for stream in trial.result.streams:
                streams.setdefault(stream.name, []).append(stream)
    if not any(name in BACKGROUND_STREAMS for name in streams):
        return
    for name, results in streams.items():
        planned, lost = sum(stream.planned for stream in results), sum(stream.lost for stream in results)
        yield experiment.title, name, f"{planned:,}", f"{lost:,}", wording.percent(100 * lost / planned, 4)
