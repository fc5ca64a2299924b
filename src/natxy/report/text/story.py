# SPDX-License-Identifier: Apache-2.0
"""Tells the story of an experiment's searches as text: the attempts in their order, loss against rate, the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.causes.causes import explain
from natxy.causes.counted import outcome_or_counters
from natxy.causes.facts import missing
from natxy.causes.shape import percent
from natxy.report.words import headlines, states
from natxy.results.records import ExperimentRecord, RepetitionRecord
from natxy.results.trials import Purpose, TrialRecord, trial_title

_BAR: Final = 30
# The lifetime of connections, which was measured, explains all of the losses.
_EXPIRED: Final = "the connections expired after about"


def story(experiment: ExperimentRecord) -> Iterator[str]:
    """Yields lines: what came of the experiment and, for each repetition, its trials, its loss and its reason."""
    yield f"{experiment.name}: {experiment.title}"
    yield f"  {_result(experiment)}"
    for repetition in experiment.repetitions:
        yield f"repetition {repetition.number}:"
        yield from (f"  {line}" for line in _trials(repetition))
        if any(missing(trial) > 0 for trial in repetition.trials):
            yield "  loss against rate:"
            yield from (f"    {line}" for line in _losses(repetition))
        if repetition.reason:
            yield f"  {repetition.reason}"
        cause = _cause(experiment, repetition)
        if cause not in repetition.reason:
            yield f"  {cause}"


def _result(experiment: ExperimentRecord) -> str:
    if experiment.statistics:
        return f"{headlines.headline(experiment)}, {headlines.rate_kind(experiment)}"
    return f"{states.STATE_WORDS[experiment.state]}: {experiment.reason}"


def _cause(experiment: ExperimentRecord, repetition: RepetitionRecord) -> str:
    """Returns the cause of a repetition's failures, which the tester's limit leaves unsaid."""
    if repetition.lower_bound is not None or _EXPIRED in repetition.reason:
        return ""
    found = (explain(experiment.planned, repetition.trials, purpose) for purpose in (Purpose.MEASURE, Purpose.PREPARE))
    return next(filter(None, found), "")


def _trials(repetition: RepetitionRecord) -> Iterator[str]:
    for trial in repetition.trials:
        again = f", attempt {trial.attempt}" if trial.attempt > 1 else ""
        title = trial_title(trial.kind, trial.rate_fps)
        yield f"step {trial.number}{again}, {title}: {trial.verdict.value}: {trial.reason}"


def _losses(repetition: RepetitionRecord) -> Iterator[str]:
    """Yields a line for each trial that planned frames, the lowest rate first, with a bar as long as its loss."""
    trials = sorted((trial for trial in repetition.trials if trial.planned), key=lambda trial: trial.rate_fps)
    most = max(_share(trial) for trial in trials)
    titles = [trial_title(trial.kind, trial.rate_fps) for trial in trials]
    width = max(map(len, titles))
    for title, trial in zip(titles, trials, strict=True):
        bar = "█" * round(_BAR * _share(trial) / most)
        yield f"{title:<{width}}  {percent(_share(trial)):>8}  {bar:<{_BAR}}  {outcome_or_counters(trial)}"


def _share(trial: TrialRecord) -> float:
    return max(0, missing(trial)) / trial.planned
