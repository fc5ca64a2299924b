# SPDX-License-Identifier: Apache-2.0
"""The tables of a run: one line an experiment for the overview, and the RFC's form, one column an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from natxy.engine.messages import Verdict
from natxy.plan.units import format_duration
from natxy.report import wording
from natxy.report.tables import Column, Table
from natxy.report.walk import every_trial, trials_of
from natxy.results.records import ExperimentRecord, RunRecord, State
from natxy.results.statistics import Summary


def overview(run: RunRecord) -> list[Table]:
    """One line an experiment, narrow enough for a terminal."""
    return [_overview(title, experiments) for title, experiments in _kinds(run)]


def rfc_form(run: RunRecord) -> list[Table]:
    """One column an experiment, rows as in RFC 9693 §4.10."""
    return [_rfc_table(title, experiments) for title, experiments in _kinds(run)]


def invalid_trials(run: RunRecord) -> Table:
    columns = ("Experiment", "Repetition", "Step", "Attempt", "Trial", "Rate", "Cause", "Reason")
    numeric = {"Repetition", "Step", "Attempt", "Rate"}
    rows = tuple(
        (
            experiment.name, str(repetition.number), str(trial.number), str(trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), trial.cause.value, trial.reason,
        )
        for experiment, repetition, trial in every_trial(run)
        if trial.verdict is Verdict.INVALID
    )  # fmt: skip
    return Table("Invalid trials", tuple(Column(title, title in numeric) for title in columns), rows)


def foreign_frames(run: RunRecord) -> Table:
    total: Counter[tuple[str, str]] = Counter()
    for _, _, trial in every_trial(run):
        for port in trial.result.ports:
            for kind, frames in port.foreign.items():
                total[port.side.value, kind] += frames
    rows = tuple((side, kind, f"{frames:,}") for (side, kind), frames in sorted(total.items()) if frames)
    return Table("Foreign frames", (Column("Port"), Column("Kind"), Column("Frames", numeric=True)), rows)


def trials(experiment: ExperimentRecord) -> Table:
    columns = ("Rep.", "Step", "Trial", "Rate", "Duration", "Sent", "Received", "Lost", "Verdict", "Reason")
    numeric = {"Rep.", "Step", "Rate", "Duration", "Sent", "Received", "Lost"}
    rows = tuple(
        (
            str(repetition.number), _step(trial.number, trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), format_duration(trial.duration_s), f"{trial.sent:,}",
            f"{trial.received:,}", f"{trial.lost:,}", trial.verdict.value, trial.reason,
        )
        for _, repetition, trial in trials_of(experiment)
    )  # fmt: skip
    return Table("Every trial", tuple(Column(title, title in numeric) for title in columns), rows)


def _step(step: int, attempt: int) -> str:
    return str(step) if attempt == 1 else f"{step}, attempt {attempt}"


def _kinds(run: RunRecord) -> list[tuple[str, list[ExperimentRecord]]]:
    """Throughput and connection rates apart: their numbers are not of one kind."""
    throughput = [experiment for experiment in run.experiments if wording.is_throughput(experiment)]
    connection_rates = [experiment for experiment in run.experiments if not wording.is_throughput(experiment)]
    titles = ("Throughput, frames/s per direction", "Maximum connection establishment rate, connections/s")
    return [kind for kind in zip(titles, (throughput, connection_rates), strict=True) if kind[1]]


def _overview(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    compared = any(experiment.baseline for experiment in experiments)
    names = ["Median", "p1", "p99", "Min", "Max", "Disp.", "N", *(["base"] if compared else [])]
    columns = (Column("Experiment"), *(Column(name, numeric=True) for name in names))
    return Table(title, columns, tuple(_overview_row(experiment)[: len(columns)] for experiment in experiments))


def _overview_row(experiment: ExperimentRecord) -> tuple[str, ...]:
    summary = experiment.statistics
    name = experiment.title
    if experiment.state is not State.DONE:
        name += f" ({wording.STATE_WORDS[experiment.state]})"
    statistics = [wording.ABSENT] * 6
    if summary is not None:
        values = (summary.median, summary.p1, summary.p99, summary.minimum, summary.maximum)
        statistics = [*map(wording.short, values), _dispersion(summary)]
        statistics[0] = wording.bound(experiment).strip() + statistics[0]
    ratio = wording.baseline_ratio(experiment) if experiment.baseline else ""
    return (name, *statistics, wording.repetitions(experiment), ratio)


def _dispersion(summary: Summary) -> str:
    return wording.percent(None if summary.dispersion is None else 100 * summary.dispersion)


_STATISTICS: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("1st percentile", lambda summary: wording.number(summary.p1)),
    ("99th percentile", lambda summary: wording.number(summary.p99)),
    ("Minimum", lambda summary: wording.number(summary.minimum)),
    ("Maximum", lambda summary: wording.number(summary.maximum)),
    ("Dispersion (max − min) / median", _dispersion),
)


def _rfc_table(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    conditions = [wording.conditions(experiment) for experiment in experiments]
    rows: list[tuple[str, ...]] = [
        (label, *(stated[label] for stated in conditions))
        for label in conditions[0]
        if any(stated[label] != wording.ABSENT for stated in conditions)
    ]
    rows.append(("Number of experiments", *(wording.repetitions(experiment) for experiment in experiments)))
    rows.append(("Median", *(_median(experiment, directions=1) for experiment in experiments)))
    rows.extend(
        (label, *(wording.ABSENT if e.statistics is None else show(e.statistics) for e in experiments))
        for label, show in _STATISTICS
    )
    if any(wording.is_throughput(e) and wording.directions(e) == 2 for e in experiments):
        aggregates = (_median(experiment, wording.directions(experiment)) for experiment in experiments)
        rows.append(("Median, aggregate of both directions", *aggregates))
    if any(experiment.baseline for experiment in experiments):
        rows.append(("Median relative to the baseline", *map(wording.baseline_ratio, experiments)))
    columns = (Column(""), *(Column(experiment.title, numeric=True) for experiment in experiments))
    return Table(title, columns, tuple(rows), emphasis="Median")


def _median(experiment: ExperimentRecord, directions: int) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    return wording.bound(experiment) + wording.number(directions * experiment.statistics.median)
