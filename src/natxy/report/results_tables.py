# SPDX-License-Identifier: Apache-2.0
"""The tables of a run: one line an experiment for the overview, and the RFC's form, one column an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from natxy.engine.messages import Verdict
from natxy.plan.procedures import DECLARATIONS
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
    """Experiments with different headlines apart, in the order their procedures are declared."""
    order = list(DECLARATIONS)
    kinds: dict[str, list[ExperimentRecord]] = {}
    for experiment in sorted(run.experiments, key=lambda experiment: order.index(experiment.procedure)):
        kinds.setdefault(wording.kind(experiment), []).append(experiment)
    return [(title, sorted(experiments, key=lambda experiment: experiment.id)) for title, experiments in kinds.items()]


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

        def short(value: float) -> str:
            return wording.short(value, experiment.unit)

        values = (summary.p1, summary.p99, summary.minimum, summary.maximum)
        shown = [summary.shown_median(short), *(summary.shown(value, short) for value in values)]
        statistics = [*shown, wording.dispersion(summary)]
    return (
        name,
        *map(_narrow, statistics),
        wording.repetitions(experiment),
        _narrow(wording.baseline_ratio(experiment)),
    )


def _narrow(cell: str) -> str:
    """A bound close to its number."""
    return cell[0] + cell[2:] if cell.startswith(("≥ ", "≤ ", "< ")) else cell


_Pick = Callable[[Summary], float]
_MEDIAN: tuple[str, _Pick] = ("median", lambda summary: summary.median)
_MEAN: tuple[str, _Pick] = ("mean", lambda summary: summary.mean)
_STATISTICS: tuple[tuple[str, _Pick], ...] = (
    ("1st percentile", lambda summary: summary.p1),
    ("99th percentile", lambda summary: summary.p99),
    ("Minimum", lambda summary: summary.minimum),
    ("Maximum", lambda summary: summary.maximum),
)


def _rfc_table(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    conditions = [wording.conditions(experiment) for experiment in experiments]
    labels = dict.fromkeys(label for stated in conditions for label in stated)
    rows: list[tuple[str, ...]] = [
        (label, *(stated.get(label, wording.ABSENT) for stated in conditions))
        for label in labels
        if any(stated.get(label, wording.ABSENT) != wording.ABSENT for stated in conditions)
    ]
    rows.append(("Number of repetitions", *(wording.repetitions(experiment) for experiment in experiments)))
    rows.append(("Median", *(_median(experiment, directions=1) for experiment in experiments)))
    if any(experiment.declaration.reports_mean for experiment in experiments):
        rows.append(("Mean", *(_statistic(e.statistics, _MEAN[1], e.unit) for e in experiments)))
    rows.extend(
        (label, *(_statistic(experiment.statistics, pick, experiment.unit) for experiment in experiments))
        for label, pick in _STATISTICS
    )
    dispersions = (wording.dispersion(e.statistics) if e.statistics else wording.ABSENT for e in experiments)
    rows.append(("Dispersion (max − min) / median", *dispersions))
    if any(wording.share_of_maximum(experiment) != wording.ABSENT for experiment in experiments):
        rows.append(("Median of the theoretical maximum", *map(wording.share_of_maximum, experiments)))
    rows.extend(_further_figures(experiments))
    if any(wording.per_direction(e) and wording.directions(e) == 2 for e in experiments):
        aggregates = (_median(experiment, wording.directions(experiment)) for experiment in experiments)
        rows.append(("Median, aggregate of both directions", *aggregates))
    if any(experiment.baseline for experiment in experiments):
        rows.append(("Median relative to the baseline", *map(wording.baseline_ratio, experiments)))
    columns = (Column(""), *(Column(experiment.title, numeric=True) for experiment in experiments))
    return Table(title, columns, tuple(rows), emphasis="Median")


def _further_figures(experiments: Sequence[ExperimentRecord]) -> Iterator[tuple[str, ...]]:
    """The medians of what is measured besides the headline, or the means where these are asked for."""
    for figure in dict.fromkeys(figure for experiment in experiments for figure in experiment.declaration.figures[1:]):
        summaries = (experiment.figure_statistics.get(figure.name) for experiment in experiments)
        name, pick = _MEAN if experiments[0].declaration.reports_mean else _MEDIAN
        medians = (_statistic(summary, pick, figure.unit) for summary in summaries)
        yield (f"{figure.title}, {wording.unit(figure.unit)}, {name}", *medians)


def _statistic(summary: Summary | None, pick: Callable[[Summary], float], unit: str) -> str:
    return wording.ABSENT if summary is None else wording.statistic(summary, pick(summary), unit)


def _median(experiment: ExperimentRecord, directions: int) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    return experiment.statistics.shown_median(lambda value: wording.quantity(directions * value, experiment.unit))
