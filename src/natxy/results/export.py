# SPDX-License-Identifier: Apache-2.0
"""Writes a run for other programs: its trials as CSV or Parquet, or all that is stored as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any, BinaryIO

from natxy.results.analysis.ceilings import ceiling_share
from natxy.results.analysis.sweeps import Computed, computed
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord
from natxy.results.rows import Row, to_csv, trial_rows
from natxy.results.trials import TrialRecord


class ExportFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def write(run: RunRecord, form: ExportFormat, out: BinaryIO) -> None:
    match form:
        case ExportFormat.CSV:
            # Without any trial the file still has the line that ends its empty header.
            out.write((to_csv(trial_rows(run), line_end="\r\n") or "\r\n").encode())
        case ExportFormat.JSON:
            out.write((json.dumps(document(run), indent=2, ensure_ascii=False) + "\n").encode())
        case ExportFormat.PARQUET:
            _write_parquet(trial_rows(run), out)


def document(run: RunRecord) -> dict[str, Any]:
    """Returns all that is stored of a run, and the statistics of its experiments."""
    comparisons = computed(run)
    experiments = [
        _experiment(experiment, comparisons[experiment.id])
        | {"ceiling_share": asdict(share) if (share := ceiling_share(experiment, run.self_test)) else None}
        for experiment in run.experiments
    ]
    known = {"load": run.load, "tester": run.tester, "self_test": run.self_test}
    models = {name: model.model_dump(mode="json") if model else None for name, model in known.items()}
    return _shallow(run) | models | {"experiments": experiments}


def _experiment(experiment: ExperimentRecord, comparison: Computed) -> dict[str, Any]:
    planned = experiment.planned
    return {
        "id": experiment.id,
        "name": planned.name,
        "title": planned.title,
        "gateway": experiment.gateway,
        "procedure": experiment.procedure,
        "family": planned.family,
        "sweep": planned.sweep,
        "cell": planned.cell,
        "settings": settings_of(planned),
        "unit": planned.unit,
        "state": experiment.state,
        "reason": experiment.reason,
        "dut": experiment.dut,
        "baseline_name": planned.baseline,
        "repetitions": [_repetition(repetition) for repetition in experiment.repetitions],
        "figures": [asdict(figure) for figure in experiment.declaration.figures],
        "statistics": _statistics(experiment),
        "computed": comparison.columns(),
        "is_only_a_lower_bound": experiment.is_only_a_lower_bound,
    }


def _statistics(experiment: ExperimentRecord) -> dict[str, Any]:
    """Returns the summary of each figure, with its interval."""
    headline = experiment.declaration.headline().name
    of_headline = {headline: experiment.statistics} if experiment.statistics else {}
    return {
        name: asdict(summary) | {"interval": asdict(summary.interval) if summary.interval else None}
        for name, summary in (of_headline | experiment.figure_statistics).items()
    }


def _repetition(repetition: RepetitionRecord) -> dict[str, Any]:
    return _shallow(repetition) | {
        "curves": [asdict(curve) for curve in repetition.curves],
        "trials": [_shallow(trial) | {"result": trial.result.model_dump(mode="json")} for trial in repetition.trials],
        "transfers": [asdict(transfer) for transfer in repetition.transfers],
    }


def _shallow(record: RunRecord | RepetitionRecord | TrialRecord) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _write_parquet(rows: Sequence[Row], out: BinaryIO) -> None:
    # The import takes longer than all others, and only this needs it.
    import pyarrow
    import pyarrow.parquet

    columns = {name: _one_type([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    # A seed may be above 2^63.
    arrays = {
        name: pyarrow.array(column, pyarrow.uint64() if name == "seed" else None) for name, column in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(arrays), out)


def _one_type(column: list[Any]) -> list[Any]:
    """Turns a column of a sweep over different types, such as a number and a name, into text."""
    kinds = {type(value) for value in column if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if value is None else str(value) for value in column]
    return column
