# SPDX-License-Identifier: Apache-2.0
"""A run for other programs: everything as one JSON document, or its trials as rows of CSV or Parquet; of tests
between hosts a row is one direction.

Columns have their units in their names; those of `step_value` and `repetition_result` depend on the procedure and stand
in `step_unit` and `result_unit`. What is computed from several experiments is in `computed.py`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from enum import StrEnum
from io import TextIOWrapper
from typing import Any, BinaryIO, Final

from natxy.engine.messages.results import StreamResult
from natxy.results.ceilings import ceiling_share
from natxy.results.computed import Computed, computed
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, TransferRecord, TrialRecord
from natxy.results.selftest import SelfTest

Row = dict[str, Any]

_COUNTS: Final = (
    "planned", "sent", "unsent", "received", "lost", "duplicate", "reordered", "corrupt", "misrouted", "stale",
)  # fmt: skip
_DELAYS: Final = ("min_ns", "mean_ns", "median_ns", "p1_ns", "p99_ns", "p999_ns", "max_ns")
_LATENESS: Final = ("median_ns", "p99_ns", "p999_ns", "max_ns")


class ExportFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def write(run: RunRecord, form: ExportFormat, out: BinaryIO) -> None:
    match form:
        case ExportFormat.CSV:
            _write_csv(trial_rows(run), out)
        case ExportFormat.JSON:
            out.write((json.dumps(document(run), indent=2, ensure_ascii=False) + "\n").encode())
        case ExportFormat.PARQUET:
            _write_parquet(trial_rows(run), out)


def trial_rows(run: RunRecord) -> list[Row]:
    """One a trial, or a direction of a test between hosts, all with the same columns; what one doesn't have is None."""
    comparisons = {number: one.columns() for number, one in computed(run).items()}
    # A run without sweeps needs no columns for what is computed from them.
    used = {name for one in comparisons.values() for name, value in one.items() if value is not None}
    rows = [
        _run_columns(run)
        | _experiment_columns(experiment)
        | {name: value for name, value in comparisons[experiment.id].items() if name in used}
        | _ceiling_columns(experiment, run.self_test)
        | _repetition_columns(repetition)
        | _trial_columns(trial)
        | dict(column for stream in trial.result.streams for column in _stream_columns(stream))
        for experiment in run.experiments
        for repetition in experiment.repetitions
        for trial in repetition.trials
    ]
    rows += [
        _run_columns(run)
        | _experiment_columns(experiment)
        | _repetition_columns(repetition)
        | _transfer_columns(transfer)
        for experiment in run.experiments
        for repetition in experiment.repetitions
        for transfer in repetition.transfers
    ]
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: row.get(column) for column in columns} for row in rows]


def document(run: RunRecord) -> dict[str, Any]:
    """Everything that is stored of a run, and the statistics of its experiments."""
    comparisons = computed(run)
    experiments = [
        _experiment(experiment, comparisons[experiment.id])
        | {"ceiling_share": asdict(share) if (share := ceiling_share(experiment, run.self_test)) else None}
        for experiment in run.experiments
    ]
    known = {"load": run.load, "tester": run.tester, "self_test": run.self_test}
    models = {name: model.model_dump(mode="json") if model else None for name, model in known.items()}
    return _shallow(run) | models | {"experiments": experiments}


# --- rows


def _run_columns(run: RunRecord) -> Row:
    return {"run": run.name, "run_started_at": run.started_at, "seed": run.seed, "natxy_version": run.natxy_version}


def _experiment_columns(experiment: ExperimentRecord) -> Row:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "gateway": experiment.gateway,
        "procedure": experiment.procedure,
        "family": experiment.planned.family,
        "sweep": experiment.sweep,
        **{f"cell_{name}": value for name, value in experiment.cell.items()},
        "experiment_state": experiment.state.value,
        "step_unit": experiment.declaration.step_unit.value,
        "result_unit": experiment.unit,
    }


def _ceiling_columns(experiment: ExperimentRecord, found: SelfTest | None) -> Row:
    share = ceiling_share(experiment, found)
    return {
        "tester_ceiling_fps": share.ceiling_fps if share else None,
        "tester_ceiling_percent": 100 * share.share if share else None,
        "tester_limited": share.doubtful if share else None,
    }


def _repetition_columns(repetition: RepetitionRecord) -> Row:
    return {
        "repetition": repetition.number,
        "repetition_state": repetition.state.value,
        "repetition_result": repetition.value,
        "repetition_reason": repetition.reason,
    }


def _trial_columns(trial: TrialRecord) -> Row:
    return {
        "step": trial.number,
        "attempt": trial.attempt,
        "kind": trial.kind.value,
        "purpose": trial.purpose.value,
        "step_value": trial.step_rate,
        "stream_rate_fps": trial.rate_fps,
        "verdict": trial.verdict.value,
        "cause": trial.cause.value,
        "reason": trial.reason,
        "started_at": trial.started_at,
        "duration_s": trial.duration_s,
        **{f"{name}_frames": getattr(trial, name) for name in _COUNTS},
        "tester_drops_frames": trial.tester_drops,
        "established_connections": trial.result.established,
    }


def _transfer_columns(transfer: TransferRecord) -> Row:
    return {
        "test": transfer.number,
        "direction": transfer.direction,
        "started_at": transfer.started_at,
        "duration_s": transfer.duration_s,
        "goodput_bps": transfer.goodput_bps,
        "retransmitted_segments": transfer.retransmits,
    }


def _stream_columns(stream: StreamResult) -> Iterator[tuple[str, Any]]:
    name = stream.name.replace("-", "_").replace(" ", "_")
    yield f"{name}_sent_frames", stream.sent
    yield f"{name}_received_frames", stream.received
    yield f"{name}_lost_frames", stream.lost
    yield f"{name}_offered_rate_fps", stream.offered_rate_fps
    yield f"{name}_overrun_ns", stream.pacing.overrun_ns
    for lateness in _LATENESS:
        yield f"{name}_lateness_{lateness}", getattr(stream.pacing, lateness)
    if stream.delay:
        for delay in _DELAYS:
            yield f"{name}_delay_{delay}", getattr(stream.delay, delay)


def _write_csv(rows: Sequence[Row], out: BinaryIO) -> None:
    text = TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, fieldnames=[*rows[0]] if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    text.flush()
    # The stream is the caller's to close.
    text.detach()


def _write_parquet(rows: Sequence[Row], out: BinaryIO) -> None:
    # It takes longer to import than all else, and only this needs it.
    import pyarrow
    import pyarrow.parquet

    columns = {name: _one_type([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    # A seed may be above 2^63.
    arrays = {
        name: pyarrow.array(column, pyarrow.uint64() if name == "seed" else None) for name, column in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(arrays), out)


def _one_type(column: list[Any]) -> list[Any]:
    """A column of a sweep over, say, a number and a name becomes text."""
    kinds = {type(value) for value in column if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if value is None else str(value) for value in column]
    return column


# --- the document


def _shallow(record: RunRecord | RepetitionRecord | TrialRecord) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _experiment(experiment: ExperimentRecord, comparison: Computed) -> dict[str, Any]:
    declared = [asdict(figure) for figure in experiment.declaration.figures]
    planned = experiment.planned
    return (
        {
            "id": experiment.id,
            "name": planned.name,
            "title": planned.title,
            "gateway": planned.gateway.driver,
            "procedure": planned.procedure.name,
            "family": planned.family,
            "sweep": planned.sweep,
            "cell": planned.cell,
            "settings": settings_of(planned),
            "unit": planned.unit,
            "state": experiment.state,
            "reason": experiment.reason,
            "dut": experiment.dut,
            "baseline_name": planned.baseline,
            # Its place in the document; the trials are added below.
            "repetitions": [],
        }
        | {"figures": declared, "statistics": _statistics(experiment)}
        | {"computed": comparison.columns()}
        | {"is_only_a_lower_bound": experiment.is_only_a_lower_bound}
        | {"repetitions": [_repetition(repetition) for repetition in experiment.repetitions]}
    )


def _statistics(experiment: ExperimentRecord) -> dict[str, Any]:
    """Of every figure."""
    headline = experiment.declaration.headline().name
    of_headline = {headline: experiment.statistics} if experiment.statistics else {}
    return {name: asdict(summary) for name, summary in (of_headline | experiment.figure_statistics).items()}


def _repetition(repetition: RepetitionRecord) -> dict[str, Any]:
    return _shallow(repetition) | {
        "curves": [asdict(curve) for curve in repetition.curves],
        "trials": [_shallow(trial) | {"result": trial.result.model_dump(mode="json")} for trial in repetition.trials],
        "transfers": [asdict(transfer) for transfer in repetition.transfers],
    }
