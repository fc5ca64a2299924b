# SPDX-License-Identifier: Apache-2.0
"""Every chart of a run."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.report import wording
from natxy.report.chart import Chart
from natxy.report.curve_charts import curve_chart, repeated_curves
from natxy.report.search_chart import SearchStep, search_chart
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, StepRecord


def run_charts(run: RunRecord) -> Iterator[Chart]:
    for experiment in run.experiments:
        yield from experiment_charts(experiment)


def experiment_charts(experiment: ExperimentRecord) -> Iterator[Chart]:
    """Of its search, where there is one, and its curves."""
    steps = [
        SearchStep(
            repetition.number, step.rate, step.verdict,
            _step(repetition, step), step.reason,
        )
        for repetition in experiment.repetitions
        for step in repetition.steps
    ]  # fmt: skip
    if steps and "search" in experiment.declaration.takes:
        # What is searched may be another quantity than what results.
        comparable = experiment.unit == experiment.declaration.step_unit
        median = experiment.statistics.median if experiment.statistics and comparable else None
        unit = wording.unit(experiment.declaration.step_unit)
        yield search_chart(steps, name=f"{_file_name(experiment)}-search", title="Search", unit=unit, median=median)
    repetitions = [(repetition.number, repetition.curves) for repetition in experiment.repetitions]
    for repeated in repeated_curves(repetitions):
        yield curve_chart(repeated, name=f"{_file_name(experiment)}-{repeated.name}")


def _step(repetition: RepetitionRecord, step: StepRecord) -> str:
    attempt = f", attempt {step.attempt}" if step.attempt > 1 else ""
    return f"repetition {repetition.number}, step {step.number}{attempt}"


def _file_name(experiment: ExperimentRecord) -> str:
    """Names of experiments are unique, but those of a sweep's cells are not all names of files."""
    plain = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in experiment.name)
    return f"{experiment.id:02}-{plain}"
