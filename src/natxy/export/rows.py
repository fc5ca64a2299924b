# SPDX-License-Identifier: Apache-2.0
"""Results as rows of plain values for other programs: one row a figure, a compared figure, or a trial.

Values are in base units and bounds in columns of their own. Column names of trials have their units; those of
`step_value` and `repetition_result` depend on the procedure and are in `step_unit` and `result_unit`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from natxy.engine.messages.results import StreamResult
from natxy.results.analysis.ceilings import ceiling_share
from natxy.results.analysis.compare import Comparison
from natxy.results.analysis.dut_cost import COST, cost, ns_per_frame
from natxy.results.analysis.sweeps import computed
from natxy.results.bounded import Bounded
from natxy.results.intervals import Interval
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord
from natxy.results.selftest import SelfTest
from natxy.results.statistics import Summary
from natxy.results.trials import TransferRecord, TrialRecord
from natxy.untrusted.texts import csv_cell

Row = dict[str, Any]

_STATISTICS: Final[dict[str, Callable[[Summary], Bounded | None]]] = {
    "median": lambda summary: summary.bounded_median,
    "mean": lambda summary: summary.bounded_mean,
    "p1": lambda summary: summary.bounded(summary.p1),
    "p99": lambda summary: summary.bounded(summary.p99),
    "minimum": lambda summary: summary.bounded(summary.minimum),
    "maximum": lambda summary: summary.bounded(summary.maximum),
}
_SETTINGS: Final = {
    "protocol": "protocol", "mean_frame_size": "frame_size_bytes", "mix": "mix",
    "extension_headers": "extension_headers", "directions": "directions", "cores": "cores",
    "connections": "connections", "flows": "flows", "pairs": "pairs", "alpha": "alpha",
}  # fmt: skip
_DELAYS: Final = ("min_ns", "mean_ns", "median_ns", "p1_ns", "p99_ns", "p999_ns", "max_ns")
_CORE_TIMES: Final = ("busy_s", "user_s", "system_s", "softirq_s", "irq_s", "steal_s", "idle_s")
_LATENESS: Final = ("median_ns", "p99_ns", "p999_ns", "max_ns")


def to_csv(rows: Iterable[Row]) -> str:
    """Writes rows that all have the same columns as CSV; a value of None is an empty cell. No rows are no text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(map(csv_cell, row))
        writer.writerow(map(csv_cell, row.values()))
    return text.getvalue()


# --- figures


def figure_rows(run: RunRecord) -> list[Row]:
    """Returns a row for each figure of each experiment, with or without a result; the first is the headline.

    The last is the cost of a frame, if it is known.
    """
    coordinates = dict.fromkeys(field for experiment in run.experiments for field in experiment.cell)
    columns = computed(run)
    rows: list[Row] = []
    for experiment in run.experiments:
        cell = {f"cell_{field}": experiment.cell.get(field) for field in coordinates}
        compared = columns[experiment.id].columns()
        summaries = {figure: experiment.summary_of(figure) for figure in experiment.declaration.figures}
        if spent := cost(experiment):
            summaries[COST] = spent
        for number, (figure, summary) in enumerate(summaries.items()):
            is_headline = number == 0
            rows.append(
                {
                    **_identity(experiment),
                    **cell,
                    "state": experiment.state.value,
                    "figure": figure.name,
                    "unit": figure.unit.value,
                    "repetitions": summary.count if summary else 0,
                    **_statistics(summary),
                    **{name: value if is_headline else None for name, value in compared.items()},
                }
            )
    return rows


def comparison_rows(comparison: Comparison) -> Iterator[Row]:
    """Yields a row for each compared figure and run."""
    coordinates = dict.fromkeys(field for (first, *_) in comparison.figures for field in first.experiment.cell)
    for compared in (one for group in comparison.figures for one in group):
        experiment, figure = compared.experiment, compared.figure
        summary = compared.summary
        yield {
            **_identity(experiment),
            **{f"cell_{field}": experiment.cell.get(field) for field in coordinates},
            "figure": figure.name,
            "unit": figure.unit.value,
            "run": compared.run + 1,
            "repetitions": summary.count if summary else 0,
            **_bounded("median", summary.bounded_median if summary else None),
            **_interval("interval", summary.interval if summary else None),
            "difference": compared.difference,
            "difference_percent": compared.difference_percent,
            **_interval("difference_percent", compared.interval_percent),
            "difference_bound": compared.bound.value,
            "verdict": compared.verdict.value if compared.verdict else None,
        }


def _identity(experiment: ExperimentRecord) -> Row:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "procedure": experiment.procedure,
        "gateway": experiment.gateway,
        "family": experiment.planned.family,
        **{column: getattr(experiment.planned, field) for field, column in _SETTINGS.items()},
    }


def _statistics(summary: Summary | None) -> Row:
    row: Row = {}
    for name, statistic in _STATISTICS.items():
        row |= _bounded(name, statistic(summary) if summary else None)
    row |= _interval("interval", summary.interval if summary else None)
    row["standard_deviation"] = summary.exact_deviation if summary else None
    return row | _bounded("dispersion", summary.bounded_dispersion if summary else None)


def _interval(name: str, interval: Interval | None) -> Row:
    """Returns the columns of the ends, both None without an interval."""
    return {f"{name}_low": interval.low if interval else None, f"{name}_high": interval.high if interval else None}


def _bounded(name: str, value: Bounded | None) -> Row:
    """Returns the columns of a value and its bound, both None without a value."""
    return {f"{name}_bound": value.bound.value if value else None, name: float(value.value) if value else None}


# --- trials


def trial_rows(run: RunRecord) -> list[Row]:
    """Returns a row for each trial, and for each direction of a test between hosts, all with the same columns."""
    comparisons = {number: one.columns() for number, one in computed(run).items()}
    # A run without sweeps needs no columns for what is computed from them.
    used = {name for one in comparisons.values() for name, value in one.items() if value is not None}
    rows = [
        _where(run, experiment)
        | {name: value for name, value in comparisons[experiment.id].items() if name in used}
        | _ceiling(experiment, run.self_test)
        | _repetition(repetition)
        | _trial(trial)
        | dict(column for stream in trial.result.streams for column in _stream(stream))
        for experiment, repetition, trial in run.all_trials
    ]
    rows += [
        _where(run, experiment) | _repetition(repetition) | _transfer(transfer)
        for experiment in run.experiments
        for repetition in experiment.repetitions
        for transfer in repetition.transfers
    ]
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: row.get(column) for column in columns} for row in rows]


def _where(run: RunRecord, experiment: ExperimentRecord) -> Row:
    return {
        "run": run.name,
        "run_started_at": run.started_at,
        "seed": run.seed,
        "natxy_version": run.natxy_version,
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


def _ceiling(experiment: ExperimentRecord, self_test: SelfTest | None) -> Row:
    share = ceiling_share(experiment, self_test)
    return {
        "tester_ceiling_fps": share.ceiling_fps if share else None,
        "tester_ceiling_percent": 100 * share.share if share else None,
        "tester_limited": share.doubtful if share else None,
    }


def _repetition(repetition: RepetitionRecord) -> Row:
    return {
        "repetition": repetition.number,
        "repetition_state": repetition.state.value,
        "repetition_result": repetition.value,
        "repetition_reason": repetition.reason,
    }


def _trial(trial: TrialRecord) -> Row:
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
        **{f"{name}_frames": count for name, count in trial.counts.items()},
        "established_connections": trial.result.established,
        **_sources(trial),
        "tester_pause_s": trial.tester_pause_s,
        "gateway_pause_s": trial.gateway_pause_s,
        "gateway_stolen_s": trial.gateway_stolen_s,
        "gateway_delayed_s": trial.gateway_delayed_s,
        "gateway_speed_hz": min((core.mean_hz for core in trial.result.dut_cores), default=None),
        "disturbance": trial.disturbance,
        **_dut_load(trial),
    }


def _sources(trial: TrialRecord) -> Row:
    """Returns how phase 1 was spread over the addresses with which it arrived."""
    spread = trial.result.sources
    if spread is None:
        return {}
    return {
        "source_addresses": spread.addresses,
        "source_fewest_connections": spread.fewest,
        "source_most_connections": spread.most,
        "source_endpoints": spread.endpoints,
        "source_lowest_port": spread.lowest_port,
        "source_highest_port": spread.highest_port,
    }


def _dut_load(trial: TrialRecord) -> Row:
    """Returns what the DUT spent; columns of a trial without it are left to the others."""
    load = trial.dut_load
    if load is None:
        return {}
    return {
        "dut_reading_s": load.elapsed_s,
        **{f"dut_{name}": sum(getattr(core, name) for core in load.cores) for name in _CORE_TIMES},
        **{f"dut_core_{core.core}_busy_s": core.busy_s for core in load.cores},
        "dut_received_frames": sum(each.received for each in load.interfaces) if load.interfaces else None,
        "dut_sent_frames": sum(each.sent for each in load.interfaces) if load.interfaces else None,
        "dut_interface_lost_frames": load.interfaces_lost,
        "dut_queue_dropped_frames": load.dropped,
        "dut_interrupts": load.interrupts,
        "dut_memory_used_bytes": load.memory_used_bytes,
        "dut_temperature_c": load.temperature_c,
        "dut_frequency_hz": load.frequency_hz,
        "dut_time_per_frame_ns": ns_per_frame([trial]),
    }


def _transfer(transfer: TransferRecord) -> Row:
    return {
        "test": transfer.number,
        "direction": transfer.direction,
        "started_at": transfer.started_at,
        "duration_s": transfer.duration_s,
        "goodput_bps": transfer.goodput_bps,
        "retransmitted_segments": transfer.retransmits,
    }


def _stream(stream: StreamResult) -> Iterator[tuple[str, Any]]:
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
