# SPDX-License-Identifier: Apache-2.0
"""Measures one repetition of an experiment, or continues one that was interrupted, and stores its result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from natxy.errors import HostError, TesterLimitError
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.procedures.common.base import ProcedureResult, no_result
from natxy.procedures.common.contradictions import why_no_result
from natxy.procedures.common.expiry import expiry, wait_between_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.replay import AttemptCutShort, Replay
from natxy.procedures.registry import procedure_of
from natxy.results.records import RepetitionRecord, State
from natxy.run.recorder import TrialRecorder
from natxy.search.contradictions import Contradicted
from natxy.search.outcome import NeverPrepared, TesterLimitReached


def recorded_result(procedure: ProcedureDeclaration, recorded: RepetitionRecord) -> ProcedureResult:
    """Returns the result of a repetition that was finished before the run was resumed."""
    return ProcedureResult(
        # A repetition that the tester's limit ended has none stored.
        figures={**no_result(procedure, recorded.reason).figures, **recorded.figures},
        lower_bound=recorded.lower_bound,
        upper_bound=recorded.upper_bound,
        remark=recorded.reason,
        curves=recorded.curves,
    )


def measure_repetition(
    repetition: Repetition, recorder: TrialRecorder, recorded: RepetitionRecord | None
) -> ProcedureResult:
    """Returns the result and stores it, or stores why there is none and raises TesterLimitError or what the procedure
    raised.

    `recorded`: the same repetition as an earlier session left it.
    """
    finish = partial(recorder.store.finish_repetition, recorder.repetition_id)
    try:
        try:
            result = _measure(repetition, recorder, recorded)
            recorder.check_forwarding(result)
            missing = recorder.missing_connections()
            result = replace(result, remark="; ".join(filter(None, (result.remark, missing))))
            result = _unless_expired(result, repetition, recorder)
            result = recorder.explained(result, repetition.experiment)
        except NeverPrepared as never:
            result = recorder.without_connections(never, repetition.experiment)
        except Contradicted as contradicted:
            procedure = repetition.experiment.procedure
            none = no_result(procedure, why_no_result(contradicted, procedure.step_unit))
            result = _unless_expired(none, repetition, recorder)
    except TesterLimitReached as limit:
        reason = recorder.limit_reason(limit)
        finish(State.TESTER_LIMIT, lower_bound=limit.lower_bound, upper_bound=limit.upper_bound, reason=reason)
        raise TesterLimitError(reason) from limit
    except TesterLimitError as limit:
        finish(State.TESTER_LIMIT, reason=str(limit))
        raise
    except KeyboardInterrupt:
        finish(State.INTERRUPTED, reason="interrupted")
        raise
    except Exception as error:
        finish(State.HOST_FAILED if isinstance(error, HostError) else State.FAILED, reason=str(error))
        raise
    headline = result.figures[repetition.experiment.procedure.headline().name]
    finish(
        State.NO_RESULT if headline is None else State.DONE,
        value=headline,
        figures=result.figures,
        curves=result.curves,
        lower_bound=result.lower_bound,
        upper_bound=result.upper_bound,
        reason=result.remark,
    )
    return result


def _measure(repetition: Repetition, recorder: TrialRecorder, recorded: RepetitionRecord | None) -> ProcedureResult:
    """Runs the procedure; trials in `recorded` that are still valid are replayed instead of measured again."""
    procedure = procedure_of(repetition.experiment)
    usable = recorded.trials if recorded else []
    if recorded and usable and (_starts_over(recorded) or not procedure.replayable):
        recorder.store.drop_trials(recorder.repetition_id, usable[0].id)
        usable = []
    while True:
        replay = Replay(usable)
        try:
            return procedure.measure(replace(repetition, replay=replay, sleep=replay.waits(repetition.sleep)))
        except AttemptCutShort as cut:
            recorder.store.drop_trials(recorder.repetition_id, cut.first_id)
            usable = [trial for trial in usable if trial.id < cut.first_id]


def _unless_expired(result: ProcedureResult, repetition: Repetition, recorder: TrialRecorder) -> ProcedureResult:
    """Returns no result, and the reason, if connections expired where the lowest rate lost frames."""
    procedure, lossy = repetition.experiment.procedure, recorder.lost_after_phase1()
    has_figure = result.figures[procedure.headline().name] is not None
    settled = result.lower_bound is not None or result.explained or (procedure.expects_loss and has_figure)
    if settled or lossy is None:
        return result
    expired = expiry(repetition, wait_between_s(repetition.experiment.timing, *lossy))
    if not expired:
        return result
    # Whatever else seems to follow from the losses does so from the lifetime.
    return no_result(procedure, expired)


def _starts_over(recorded: RepetitionRecord) -> bool:
    """Returns True when none of the recorded trials can be used.

    They lead to no result, or the gateway had stopped forwarding, and it is unknown since when.
    """
    if recorded.state in {State.NO_RESULT, State.TESTER_LIMIT}:
        return True
    last = recorded.steps[-1].trials
    return recorded.state == State.FAILED and not any(trial.received for trial in last)
