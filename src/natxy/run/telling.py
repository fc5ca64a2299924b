# SPDX-License-Identifier: Apache-2.0
"""Turns what a run knows into the events that it tells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from natxy.events.run import (
    ExperimentFinished,
    FigureValue,
    Median,
    PlannedExperiment,
    RepetitionFinished,
    RunStarted,
)
from natxy.events.trials import TrialFinished
from natxy.installation import full_version
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.figures import applies
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.procedures.common.base import ProcedureResult
from natxy.results.records import State
from natxy.results.statistics import Headline, summarize_headlines
from natxy.results.trials import TrialRecord
from natxy.run.estimate import expected_steps, repetition_s


def run_started(plan: ResolvedPlan, folder: Path, *, resumed: bool) -> RunStarted:
    """Returns the first event of a session."""
    return RunStarted(
        natxy_version=full_version(),
        name=plan.name,
        folder=str(folder),
        testbed=plan.testbed.kind,
        resumed=resumed,
        experiments=tuple(_planned(plan, experiment) for experiment in plan.experiments),
    )


def _planned(plan: ResolvedPlan, experiment: Experiment) -> PlannedExperiment:
    return PlannedExperiment(
        name=experiment.name,
        title=experiment.title,
        procedure=experiment.procedure.name,
        gateway=experiment.gateway.title,
        unit=experiment.unit,
        step_unit=experiment.procedure.step_unit,
        repetitions=experiment.repeat.at_most,
        until_precise=experiment.repeat.until is not None,
        steps=expected_steps(experiment),
        repetition_s=repetition_s(plan, experiment),
        between_hosts=experiment.procedure.between_hosts,
        result_label=experiment.non_rfc,
    )


def trial_finished(experiment: str, repetition: int, trial: TrialRecord) -> TrialFinished:
    """Returns the event of a trial that is stored."""
    streams = trial.result.streams
    return TrialFinished(
        experiment=experiment,
        repetition=repetition,
        step=trial.number,
        attempt=trial.attempt,
        kind=trial.kind,
        purpose=trial.purpose,
        rate_fps=trial.rate_fps,
        verdict=trial.verdict,
        cause=trial.cause,
        reason=trial.reason,
        duration_s=trial.duration_s,
        planned=trial.planned,
        sent=trial.sent,
        received=trial.received,
        lost=trial.lost,
        sent_per_second=_sums([stream.sent_per_second for stream in streams]),
        received_per_second=_sums([stream.received_per_second for stream in streams]),
        late_ns=max((stream.pacing.p99_ns for stream in streams), default=0),
        tester_pause_s=trial.tester_pause_s,
        gateway_pause_s=trial.gateway_pause_s,
        dut_load=trial.dut_load,
    )


def _sums(series: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip_longest(*series, fillvalue=0)))


def repetition_finished(experiment: Experiment, number: int, result: ProcedureResult) -> RepetitionFinished:
    """Returns the event of a repetition with its figures; those that do not apply are left out."""
    return RepetitionFinished(
        experiment=experiment.name,
        repetition=number,
        figures=tuple(
            FigureValue(name=figure.name, title=figure.title, unit=figure.unit, value=result.figures[figure.name])
            for figure in experiment.procedure.figures
            if figure.name in result.figures and applies(figure, experiment.directions)
        ),
        lower_bound=result.lower_bound,
        upper_bound=result.upper_bound,
        remark=result.remark,
    )


def experiment_finished(
    experiment: Experiment, state: State, reason: str, headlines: Sequence[Headline]
) -> ExperimentFinished:
    """Returns the event of an experiment whose repetitions had these results."""
    summary = summarize_headlines(headlines)
    return ExperimentFinished(
        experiment=experiment.name,
        state=state,
        reason=reason,
        median=None
        if summary is None
        else Median(value=summary.bounded_median.value, bound=summary.bounded_median.bound, count=summary.count),
    )
