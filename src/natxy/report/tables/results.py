# SPDX-License-Identifier: Apache-2.0
"""The tables of a run: one line an experiment for the overview, and the RFC's form, one column an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit, format_duration
from natxy.plan.procedures import DECLARATIONS
from natxy.report.tables import sweep as sweep_tables
from natxy.report.tables.background import background_tables
from natxy.report.tables.capacity import capacity_table
from natxy.report.tables.goodput import goodput_tables
from natxy.report.tables.latency import latency_tables
from natxy.report.tables.statistics_rows import MEDIAN, aggregate_rows, further_rows, percentiles_note, statistics_rows
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, narrow, states, wording
from natxy.report.words.conditions import conditions
from natxy.results.records import ExperimentRecord, RunRecord, State


def overview(run: RunRecord) -> list[Table]:
    """One line an experiment, narrow enough for a terminal; of each sweep a table."""
    tables = [_overview(title, experiments) for title, experiments in _kinds(run)]
    return [*tables, *sweep_tables.overview(run), *background_tables(run), *goodput_tables(run)]


def rfc_form(run: RunRecord) -> list[Table]:
    """Every table of results."""
    return plain_form(run) + sweep_tables.sweep_tables(run)


def plain_form(run: RunRecord) -> list[Table]:
    """But those of sweeps: one column an experiment, rows as in RFC 9693 §4.10, and capacities as in the source
    papers."""
    plain = [_rfc_table(title, experiments) for title, experiments in _kinds(run)]
    capacities = (capacity_table(experiment) for experiment in run.experiments)
    more = (latency_tables(run), background_tables(run), goodput_tables(run))
    return [*plain, *(table for table in capacities if table), *(table for tables in more for table in tables)]


def undecided_trials(run: RunRecord) -> Table:
    columns = ("Experiment", "Repetition", "Step", "Attempt", "Trial", "Rate", "Cause", "Reason")
    numeric = {"Repetition", "Step", "Attempt", "Rate"}
    rows = tuple(
        (
            experiment.name, str(repetition.number), str(trial.number), str(trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), trial.cause.value, trial.reason,
        )
        for experiment, repetition, trial in run.all_trials
        if trial.verdict is Verdict.INVALID or trial.failed_to_prepare
    )  # fmt: skip
    return Table("Trials that decided nothing", tuple(Column(title, title in numeric) for title in columns), rows)


def trials(experiment: ExperimentRecord) -> Table:
    columns = ("Rep.", "Step", "Trial", "Rate", "Duration", "Sent", "Received", "Lost", "Verdict", "Reason")
    numeric = {"Rep.", "Step", "Rate", "Duration", "Sent", "Received", "Lost"}
    rows = tuple(
        (
            str(repetition.number), _step(trial.number, trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), format_duration(trial.duration_s), f"{trial.sent:,}",
            f"{trial.received:,}", f"{trial.lost:,}", trial.verdict.value, trial.reason,
        )
        for _, repetition, trial in experiment.all_trials
    )  # fmt: skip
    return Table("Every trial", tuple(Column(title, title in numeric) for title in columns), rows)


def host_tests(experiment: ExperimentRecord) -> Table:
    columns = ("Rep.", "Test", "Direction", "Duration", "Goodput, Mbit/s", "Retransmissions")
    rows = tuple(
        (
            str(repetition.number), str(transfer.number), transfer.direction, format_duration(transfer.duration_s),
            wording.quantity(transfer.goodput_bps, Unit.BPS), f"{transfer.retransmits:,}",
        )
        for repetition in experiment.repetitions
        for transfer in repetition.transfers
    )  # fmt: skip
    return Table("Every test", tuple(Column(title, title != "Direction") for title in columns), rows)


def _step(step: int, attempt: int) -> str:
    return str(step) if attempt == 1 else f"{step}, attempt {attempt}"


def _kinds(run: RunRecord) -> list[tuple[str, list[ExperimentRecord]]]:
    """What is no sweep's: experiments with different headlines apart, in the order their procedures are declared."""
    order = list(DECLARATIONS)
    kinds: dict[str, list[ExperimentRecord]] = {}
    alone = [experiment for experiment in run.experiments if experiment.sweep is None]
    for experiment in sorted(alone, key=lambda experiment: order.index(experiment.procedure)):
        kinds.setdefault(headlines.kind(experiment), []).append(experiment)
    return [(title, sorted(experiments, key=lambda experiment: experiment.id)) for title, experiments in kinds.items()]


def _overview(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    compared = any(experiment.baseline for experiment in experiments)
    summaries = [experiment.statistics for experiment in experiments if experiment.statistics]
    percentiles = any(not summary.percentiles_are_extremes for summary in summaries)
    names = [*(narrow.STATISTICS if percentiles else narrow.SPREAD), *(["base"] if compared else [])]
    columns = (Column("Experiment"), *(Column(name, numeric=True) for name in names))
    shown = narrow.statistics if percentiles else narrow.spread
    rows = (
        (
            name + ("" if experiment.state is State.DONE else f" ({states.state(experiment)})"),
            *shown(experiment),
            headlines.baseline_ratio(experiment, gap=""),
        )
        for name, experiment in zip(_short_titles(experiments), experiments, strict=True)
    )
    return Table(title, columns, tuple(row[: len(columns)] for row in rows), note=headlines.ratios_note(experiments))


def _short_titles(experiments: Sequence[ExperimentRecord]) -> Iterator[str]:
    """Below `NAT connections`, `NAT connections, validated` is `… validated`."""
    whole = ""
    for title in (experiment.title for experiment in experiments):
        if whole and title.startswith(f"{whole}, "):
            yield f"… {title.removeprefix(f'{whole}, ')}"
        else:
            whole = title
            yield title


def _rfc_table(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    told = [conditions(experiment) for experiment in experiments]
    labels = dict.fromkeys(label for stated in told for label in stated)
    rows: list[tuple[str, ...]] = [
        (label, *(stated.get(label, wording.ABSENT) for stated in told))
        for label in labels
        if any(stated.get(label, wording.ABSENT) != wording.ABSENT for stated in told)
    ]
    rows.extend(statistics_rows(experiments))
    rows.extend(further_rows(experiments))
    rows.extend(aggregate_rows(experiments))
    if any(experiment.baseline for experiment in experiments):
        rows.append(("Median relative to the baseline", *map(headlines.baseline_ratio, experiments)))
    columns = (Column(""), *(Column(experiment.title, numeric=True) for experiment in experiments))
    table = Table(title, columns, tuple(rows), frozenset({MEDIAN}), percentiles_note(experiments))
    return table.with_note(headlines.ratios_note(experiments))
