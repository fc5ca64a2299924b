# SPDX-License-Identifier: Apache-2.0
"""Collects the charts of a run: the overview, and those of sweeps and of experiments."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.report.charts.chart import Chart
from natxy.report.charts.curve import curve_chart, repeated_curves
from natxy.report.charts.load import load_chart
from natxy.report.charts.loss import loss_chart
from natxy.report.charts.overview import overview_charts
from natxy.report.charts.search import SearchStep, search_chart
from natxy.report.charts.series import series_chart
from natxy.report.charts.sweep import sweep_chart
from natxy.report.words import wording
from natxy.results.analysis.sweeps import SweepGroup, sweep_groups
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord
from natxy.results.trials import StepRecord
from natxy.untrusted.texts import file_name


def run_charts(run: RunRecord) -> Iterator[Chart]:
    yield from overview_charts(run)
    for group in sweep_groups(run):
        yield from group_charts(group)
    for experiment in run.experiments:
        yield from experiment_charts(experiment)


def group_charts(group: SweepGroup) -> Iterator[Chart]:
    """Yields a chart for each sweep, because units differ."""
    for sweep in group.sweeps:
        # The id of the first cell distinguishes sweeps with one name and several procedures.
        chart = sweep_chart(sweep, name=f"{sweep.cells[0].id:02}-{file_name(sweep.name)}-sweep")
        if chart:
            yield chart


def experiment_charts(experiment: ExperimentRecord) -> Iterator[Chart]:
    """Yields charts of the search, if there is one, of what was lost where it found nothing, of the curves, of the
    decisive trial and of the DUT's load."""
    steps = [
        SearchStep(
            repetition.number, step.rate, step.outcome,
            _step(repetition, step), step.reason,
        )
        for repetition in experiment.repetitions
        for step in repetition.steps
    ]  # fmt: skip
    declared = experiment.declaration
    if steps and "search" in declared.takes and not declared.searches_if_asked:
        # The searched quantity may differ from the result.
        comparable = experiment.unit == experiment.declaration.step_unit
        median = experiment.statistics.median if experiment.statistics and comparable else None
        unit = wording.unit(experiment.declaration.step_unit)
        yield search_chart(steps, name=f"{_file_name(experiment)}-search", title="Search", unit=unit, median=median)
    losses = loss_chart(experiment, name=f"{_file_name(experiment)}-loss")
    if losses:
        yield losses
    repetitions = [(repetition.number, repetition.curves) for repetition in experiment.repetitions]
    for repeated in repeated_curves(repetitions):
        yield curve_chart(repeated, name=f"{_file_name(experiment)}-{file_name(repeated.name)}")
    course = series_chart(experiment, name=f"{_file_name(experiment)}-seconds")
    if course:
        yield course
    load = load_chart(experiment, name=f"{_file_name(experiment)}-load")
    if load:
        yield load


def _step(repetition: RepetitionRecord, step: StepRecord) -> str:
    attempt = f", attempt {step.attempt}" if step.attempt > 1 else ""
    return f"repetition {repetition.number}, step {step.number}{attempt}"


def _file_name(experiment: ExperimentRecord) -> str:
    return f"{experiment.id:02}-{file_name(experiment.name)}"
