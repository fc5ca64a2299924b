# SPDX-License-Identifier: Apache-2.0
"""Carries out the steps of a procedure: in a search for a rate, or one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.contradictions import overcome, rate_text
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.searches import search_of
from natxy.procedures.common.streams import allowed_backlog_s
from natxy.search.outcome import Attempt, Outcome, Sample, SearchResult, try_rate

LINE_RATE_PASSED: Final = "the line rate: the theoretical maximum passed"

Step = Callable[[Attempt], TrialResult | None]
"""Runs the trials of one attempt and returns the trial that decides it, or None if phase 1 failed."""


def search_rate(repetition: Repetition, step: Step) -> ProcedureResult:
    """Carries out the experiment's search and returns its rate as the headline."""
    found, remark = find_rate(repetition, step)
    return ProcedureResult(
        figures={repetition.experiment.procedure.headline().name: found.rate},
        lower_bound=found.lower_bound,
        upper_bound=found.upper_bound,
        remark=remark,
    )


def find_rate(repetition: Repetition, step: Step, steps_before: int = 0) -> tuple[SearchResult, str]:
    """Carries out the experiment's search; returns its result, and a remark if the result needs one.

    Its steps are numbered from `steps_before` + 1. If the line's theoretical maximum passed, it is also the upper
    bound, since no higher rate can be offered. Contradicted when its trials contradict each other.
    """
    experiment = repetition.experiment
    reasons: dict[Verdict, str] = {}

    def measure(attempt: Attempt) -> TrialResult | None:
        result = step(replace(attempt, step=steps_before + attempt.step))
        if result:
            reasons[result.verdict] = result.reason
        return result

    search = search_of(experiment, repetition.ceiling_fps)
    found = search.run(lambda attempt: _sample(experiment, attempt, measure(attempt)))
    contradiction = overcome(repetition, found)
    if found.upper_bound is None and _is_line_rate(experiment, found.rate):
        found = replace(found, upper_bound=found.rate, partial_upper_bound=found.partial_lower_bound)
        remark = LINE_RATE_PASSED
    else:
        remark = _remark(found, reasons, experiment.procedure.step_unit)
    return found, "; ".join(filter(None, (remark, contradiction)))


def valid_step(repetition: Repetition, number: int, rate: float, step: Step) -> TrialResult:
    """Carries out a single step, with further attempts while trials are invalid or phase 1 fails; it may pass or fail.

    `number` is the step's number in the repetition, from 1. Raises TesterLimitReached or NeverPrepared after too many
    attempts.
    """
    result: TrialResult | None = None

    def measure(attempt: Attempt) -> Outcome:
        nonlocal result
        tried = step(attempt)
        outcome = _outcome(repetition.experiment, tried)
        # Where no attempt decides, a disturbed one does, whatever came after it.
        if outcome in {Outcome.PASS, Outcome.FAIL, Outcome.DISTURBED}:
            result = tried
        return outcome

    try_rate(measure, Attempt(number, 1, rate), repetition.experiment.max_invalid)
    assert result is not None
    return result


def timed(experiment: Experiment, attempt: Attempt) -> Experiment:
    """Returns the experiment with the trial duration that the search asks for in this attempt."""
    if attempt.duration_s is None:
        return experiment
    timing = experiment.timing.model_copy(update={"trial": attempt.duration_s})
    return experiment.model_copy(update={"timing": timing})


def _outcome(experiment: Experiment, result: TrialResult | None) -> Outcome:
    if result is None:
        return Outcome.UNPREPARED
    # This is the phase 1 that was to prepare the traffic.
    if result.verdict == Verdict.INVALID and result.established is not None and not experiment.procedure.stateful:
        return Outcome.INVALID_PREPARATION
    return Outcome(result.verdict.value)


def _decided(experiment: Experiment, attempt: Attempt, result: TrialResult | None) -> Outcome:
    """Returns the attempt's outcome. Without a gateway, a rate that is invalid in every attempt fails: the search is
    then for the tester's own limit."""
    outcome = _outcome(experiment, result)
    last = attempt.number == experiment.max_invalid
    if outcome == Outcome.INVALID and last and not experiment.gateway.is_gateway:
        return Outcome.FAIL
    return outcome


def _sample(experiment: Experiment, attempt: Attempt, result: TrialResult | None) -> Sample:
    if result is None:
        return Sample(Outcome.UNPREPARED, frames=0, lost=0)
    sample = replace(sample_of(result), outcome=_decided(experiment, attempt, result))
    if experiment.procedure.partial_loss_ratio is None:
        return sample
    behind = any(_is_behind(experiment, stream) for stream in result.streams)
    return replace(sample, by_loss=result.cause == Cause.LOSS and not behind)


def _is_behind(experiment: Experiment, stream: StreamResult) -> bool:
    """Returns True if a stream's last frame came so late that its trial would fail without any loss."""
    allowed_s = allowed_backlog_s(experiment, stream.planned / stream.intended_rate_fps)
    return allowed_s is not None and stream.backlog_ns > allowed_s * 1e9


def sample_of(result: TrialResult) -> Sample:
    """Returns the counts of the direction that lost most, so that the other one cannot compensate for its loss."""
    worst = max(result.streams, key=lambda stream: stream.lost / stream.planned)
    outcome = Outcome(result.verdict.value)
    return Sample(outcome, frames=worst.planned, lost=worst.lost, disturbed=outcome == Outcome.DISTURBED)


def _is_line_rate(experiment: Experiment, rate: float) -> bool:
    """Returns True if the line carries no higher rate; False in a loop, which measures the tester."""
    maximum_fps = experiment.maximum_fps
    if maximum_fps is None or experiment.procedure.step_unit != Unit.FPS:
        return False
    return math.isclose(rate, maximum_fps) and experiment.gateway.is_gateway


def unsent_remark(result: SearchResult, unit: Unit) -> str:
    """Returns which rate the tester could not send; nothing if it sent every rate."""
    if result.unsent_rate is None:
        return ""
    unsent = f"the tester could not send {rate_text(result.unsent_rate, unit)}"
    return unsent if result.upper_bound is None else f"{unsent}, and the search continued at lower rates"


def _remark(result: SearchResult, reasons: Mapping[Verdict, str], unit: Unit) -> str:
    """Puts into words how a search ended; `reasons` are those of the last trial of each verdict."""
    unsent = unsent_remark(result, unit)
    if result.lower_bound is None:
        if (
            result.upper_bound is not None
            and result.unsent_rate is not None
            and result.unsent_rate < result.upper_bound
        ):
            return (
                f"no rate passed, and the tester could not send the search's lowest: {reasons.get(Verdict.INVALID, '')}"
            )
        decisive = (reasons.get(verdict) for verdict in (Verdict.FAIL, Verdict.DISTURBED, Verdict.INVALID))
        goal = "" if result.partial_lower_bound is None else " without the second goal's loss"
        return f"no rate passed{goal}, not even the search's lowest: {next(filter(None, decisive), '')}"
    if result.upper_bound is None:
        return "at least this: " + (unsent or "the search's highest rate passed")
    if result.conditional_rate is not None and result.conditional_rate != result.rate:
        return "; ".join(filter(None, (f"conditional throughput {result.conditional_rate:.6g} per second", unsent)))
    return unsent
