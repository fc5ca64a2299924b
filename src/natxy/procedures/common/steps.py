# SPDX-License-Identifier: Apache-2.0
"""Carries out the steps of a procedure: in a search for a rate, or one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from natxy.engine.messages.results import TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.search import Search
from natxy.plan.model.units import Unit
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.search.binary import BinarySearch
from natxy.search.mlr import MlrSearch, Sample, TrialDurations
from natxy.search.outcome import Attempt, Outcome, SearchResult, try_rate

LINE_RATE_PASSED: Final = "the line rate: the theoretical maximum passed"

Step = Callable[[Attempt], TrialResult | None]
"""Runs the trials of one attempt and returns the trial that decides it, or None if phase 1 failed."""


@dataclass(frozen=True)
class Found:
    """The result of a search, with a remark if the result needs one.

    If the line's theoretical maximum passed, it is also the upper bound, since no higher rate can be offered.
    """

    rate: float
    lower_bound: float | None
    upper_bound: float | None
    steps: int
    remark: str


def search_rate(repetition: Repetition, step: Step) -> ProcedureResult:
    """Carries out the experiment's search and returns its rate as the headline."""
    found = find_rate(repetition, step)
    return ProcedureResult(
        figures={repetition.experiment.procedure.headline().name: found.rate},
        lower_bound=found.lower_bound,
        upper_bound=found.upper_bound,
        remark=found.remark,
    )


def find_rate(repetition: Repetition, step: Step, steps_before: int = 0) -> Found:
    """Carries out the experiment's search. Its steps are numbered from `steps_before` + 1."""
    last_reason = ""

    def measure(attempt: Attempt) -> TrialResult | None:
        nonlocal last_reason
        result = step(replace(attempt, step=steps_before + attempt.step))
        last_reason = result.reason if result else last_reason
        return result

    search = search_of(repetition.experiment)
    if isinstance(search, MlrSearch):
        found = search.run(lambda attempt: _sample(repetition.experiment, attempt, measure(attempt)))
    else:
        found = search.run(lambda attempt: _decided(repetition.experiment, attempt, measure(attempt)))
    if found.upper_bound is None and _is_line_rate(repetition.experiment, found.rate):
        return Found(found.rate, found.lower_bound, found.rate, found.steps, LINE_RATE_PASSED)
    return Found(found.rate, found.lower_bound, found.upper_bound, found.steps, _remark(found, last_reason))


def valid_step(repetition: Repetition, number: int, rate: float, step: Step) -> TrialResult:
    """Carries out a single step, with further attempts while trials are invalid or phase 1 fails; it may pass or fail.

    `number` is the step's number in the repetition, from 1. Raises TesterLimitReached or NeverPrepared after too many
    attempts.
    """
    result: TrialResult | None = None

    def measure(attempt: Attempt) -> Outcome:
        nonlocal result
        result = step(attempt)
        return _outcome(result)

    try_rate(measure, Attempt(number, 1, rate), repetition.experiment.max_invalid)
    assert result is not None
    return result


def search_of(experiment: Experiment) -> BinarySearch | MlrSearch:
    search, tolerance = experiment.search, experiment.loss_tolerance
    assert search is not None
    if search.kind == "mlrsearch":
        return mlr_search(search, experiment.max_invalid, loss_ratio=tolerance.most if tolerance else 0.0)
    return binary_search(search, experiment.max_invalid)


def timed(experiment: Experiment, attempt: Attempt) -> Experiment:
    """Returns the experiment with the trial duration that the search asks for in this attempt."""
    if attempt.duration_s is None:
        return experiment
    timing = experiment.timing.model_copy(update={"trial": attempt.duration_s})
    return experiment.model_copy(update={"timing": timing})


def mlr_search(search: Search, max_invalid: int, *, loss_ratio: float) -> MlrSearch:
    goal, relative_error = search.goal, search.relative_error
    if relative_error is None:
        assert search.absolute_error is not None
        # The width is relative to a rate that is at most the highest.
        relative_error = min(search.absolute_error / search.max_rate, 0.5)
    return MlrSearch(
        min_rate=search.min_rate,
        max_rate=search.max_rate,
        relative_error=relative_error,
        durations=TrialDurations(goal.initial_trial, goal.final_trial, goal.duration_sum) if goal else None,
        loss_ratio=loss_ratio,
        exceed_ratio=goal.exceed_ratio if goal else 0.0,
        max_invalid=max_invalid,
    )


def _outcome(result: TrialResult | None) -> Outcome:
    return Outcome(result.verdict.value) if result else Outcome.UNPREPARED


def _decided(experiment: Experiment, attempt: Attempt, result: TrialResult | None) -> Outcome:
    """Returns the attempt's outcome. Without a gateway, a rate that is invalid in every attempt fails: the search is
    then for the tester's own limit."""
    outcome = _outcome(result)
    last = attempt.number == experiment.max_invalid
    if outcome == Outcome.INVALID and last and not experiment.gateway.is_gateway:
        return Outcome.FAIL
    return outcome


def _sample(experiment: Experiment, attempt: Attempt, result: TrialResult | None) -> Sample:
    """Returns the counts of the direction that lost most, so that the other one cannot compensate for its loss."""
    if result is None:
        return Sample(Outcome.UNPREPARED, frames=0, lost=0)
    worst = max(result.streams, key=lambda stream: stream.lost / stream.planned)
    return Sample(_decided(experiment, attempt, result), frames=worst.planned, lost=worst.lost)


def binary_search(search: Search, max_invalid: int) -> BinarySearch:
    return BinarySearch(
        min_rate=search.min_rate,
        max_rate=search.max_rate,
        absolute_error=search.absolute_error,
        relative_error=search.relative_error,
        max_invalid=max_invalid,
    )


def _is_line_rate(experiment: Experiment, rate: float) -> bool:
    """Returns whether the rate is the most that the line carries; False in a loop, which measures the tester."""
    maximum_fps = experiment.maximum_fps
    if maximum_fps is None or experiment.procedure.step_unit != Unit.FPS:
        return False
    return math.isclose(rate, maximum_fps) and experiment.gateway.is_gateway


def _remark(result: SearchResult, last_reason: str) -> str:
    if result.lower_bound is None:
        return f"no rate passed, not even the search's lowest: {last_reason}"
    if result.upper_bound is None:
        return "at least this: the search's highest rate passed"
    if result.conditional_rate is not None and result.conditional_rate != result.rate:
        return f"conditional throughput {result.conditional_rate:.6g} per second"
    return ""
