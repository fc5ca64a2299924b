# SPDX-License-Identifier: Apache-2.0
"""Stores every trial of a repetition, and explains from the trials why the repetition has no result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from natxy.causes.causes import explain, explain_capacity
from natxy.engine.interface import OnProgress
from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.events.trials import AttemptStarted, Transferred, TransfersFinished, TrialProgress, TrialStarted
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import counted, enumerated
from natxy.procedures.common.base import ProcedureResult, no_result
from natxy.results.pcap import PcapWriter
from natxy.results.store import RunStore
from natxy.results.trials import MAKING, Purpose, TransferRecord, TrialKind, TrialRecord
from natxy.run.telling import trial_finished
from natxy.search.outcome import Attempt, NeverPrepared, TesterLimitReached
from natxy.tcp.hosts import TcpTest, Transfer

FEW_MISSING: Final = 0.001
"""The largest share of connections that phase 2 is advised to do without."""
FEWEST_SILENT: Final = 20
"""The least number of frames that a gateway which forwards loses all of by no accident, such as the end of a burst."""


@dataclass
class TrialRecorder:
    """Stores each trial of repetition `number` of an experiment, then tells the listener of it."""

    experiment: str
    number: int
    repetition_id: int
    store: RunStore
    foreign: PcapWriter
    listener: RunListener
    _last_invalid: TrialRecord | None = field(default=None, init=False)
    _last_failed_phase1: TrialRecord | None = field(default=None, init=False)
    _lowest_failure: TrialRecord | None = field(default=None, init=False)
    _missing: int = field(default=0, init=False)
    _lowest_rate: float = field(default=math.inf, init=False)
    _at_lowest_rate: list[TrialRecord] = field(default_factory=list, init=False)

    def limit_reason(self, limit: TesterLimitReached) -> str:
        """Explains the tester's limit by the last invalid trial: the trials of one step may have different rates.

        If the gateway failed at another rate, the reason says that too.
        """
        trial = self._last_invalid
        assert trial is not None
        invalid = "all" if limit.invalid == limit.attempts else str(limit.invalid)
        reason = (
            f"tester limit reached in {trial.title}: {limit.attempts} attempts, {invalid} invalid; the last: "
            f"{trial.result.reason}"
        )
        failure = self._lowest_failure
        if failure is None or failure.step_rate == limit.rate:
            return reason
        return f"{reason}; the gateway had failed in {failure.title}: {failure.result.reason}"

    def explained(self, result: ProcedureResult, experiment: Experiment) -> ProcedureResult:
        """Returns a search's result with the cause of its failures, if one is known and no rate passed, or something
        other than the table's size limited its capacity."""
        if not experiment.gateway.is_gateway or result.upper_bound is None:
            return result
        if _none_passed(result):
            cause = explain(experiment, self.store.trials(self.repetition_id))
        elif experiment.procedure.most_connections:
            cause = explain_capacity(experiment, self.store.trials(self.repetition_id))
        else:
            return result
        return replace(result, remark="; ".join(filter(None, (result.remark, cause))))

    def check_forwarding(self, result: ProcedureResult) -> None:
        """Raises DutError when no rate of a search passed and no frame of a stream arrived at the lowest one."""
        if not _none_passed(result):
            return
        lowest = ", the search's lowest rate"
        _check_any_arrived(self._at_lowest_rate, lowest)
        _check_each_arrived(self._at_lowest_rate, lowest)

    def lost_after_phase1(self) -> tuple[TrialResult, TrialResult] | None:
        """Returns the last phase 1 at the lowest rate that was tried and the trial after it, if that lost frames."""
        last = self._at_lowest_rate[-2:]
        if len(last) < 2 or last[0].kind not in MAKING or last[1].kind in MAKING:
            return None
        phase1, later = (trial.result for trial in last)
        return (phase1, later) if later.verdict == Verdict.FAIL and later.cause == Cause.LOSS else None

    def without_connections(self, never: NeverPrepared, experiment: Experiment) -> ProcedureResult:
        """Returns the result of a repetition whose phase 1 always failed: no figures, and a remark that says why.

        Raises DutError when no frame of that phase 1 arrived.
        """
        trial = self._last_failed_phase1
        assert trial is not None
        _check_any_arrived([trial])
        others = ", the others were invalid" if never.unprepared < never.attempts else ""
        cause = explain(experiment, self.store.trials(self.repetition_id), Purpose.PREPARE)
        remedy = cause or "lower `phase1_rate` or enlarge the gateway's table"
        failed = f"failed in {never.unprepared} of {never.attempts} attempts{others}"
        return no_result(experiment.procedure, f"{trial.title} {failed}: {remedy}{_do_without(trial)}")

    def missing_connections(self) -> str:
        """Returns how many connections were missing in phase 2, as a remark, or an empty text."""
        return f"phase 2 did without {counted(self._missing, 'connection')} that phase 1 lost" if self._missing else ""

    def attempt_started(self, attempt: Attempt) -> None:
        if attempt.rate < self._lowest_rate:
            self._lowest_rate, self._at_lowest_rate = attempt.rate, []
        self.listener.receive(
            AttemptStarted(
                experiment=self.experiment,
                repetition=self.number,
                step=attempt.step,
                attempt=attempt.number,
                rate=attempt.rate,
                lower=attempt.lower,
                upper=attempt.upper,
            )
        )

    def trial_started(self, attempt: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float) -> OnProgress:
        self.listener.receive(
            TrialStarted(
                experiment=self.experiment,
                repetition=self.number,
                step=attempt.step,
                attempt=attempt.number,
                kind=kind,
                purpose=purpose,
                rate_fps=rate_fps,
            )
        )
        return lambda progress: self.listener.receive(TrialProgress(kind=kind, **progress.model_dump()))

    def finished(self, trial: TrialRecord) -> None:
        self.store.add_trial(self.repetition_id, trial)
        self.foreign.add(trial.result.samples)
        self.replayed(trial)
        self.listener.receive(trial_finished(self.experiment, self.number, trial))

    def transferred(self, number: int, started_at: str, test: TcpTest, found: Mapping[str, Transfer]) -> None:
        for direction, transfer in found.items():
            record = TransferRecord(
                number, direction, started_at, test.duration_s, transfer.goodput_bps, transfer.retransmits
            )
            self.store.add_transfer(self.repetition_id, record)
        transfers = {direction: Transferred(**asdict(transfer)) for direction, transfer in found.items()}
        self.listener.receive(
            TransfersFinished(experiment=self.experiment, repetition=self.number, number=number, transfers=transfers)
        )

    def replayed(self, trial: TrialRecord) -> None:
        """Notes a trial that is already stored."""
        if trial.step_rate == self._lowest_rate:
            self._at_lowest_rate.append(trial)
        if trial.result.verdict == Verdict.PASS and trial.purpose == Purpose.PREPARE:
            self._missing = max(self._missing, sum(stream.lost for stream in trial.result.streams))
        lowest = self._lowest_failure
        is_failure = trial.result.verdict == Verdict.FAIL and trial.purpose == Purpose.MEASURE
        if is_failure and (lowest is None or trial.step_rate < lowest.step_rate):
            self._lowest_failure = trial
        if trial.result.verdict == Verdict.INVALID:
            self._last_invalid = trial
        elif trial.result.verdict != Verdict.PASS and trial.purpose == Purpose.PREPARE:
            self._last_failed_phase1 = trial


def _none_passed(result: ProcedureResult) -> bool:
    return result.lower_bound is None and result.upper_bound is not None


def _do_without(phase1: TrialRecord) -> str:
    """Returns the advice to do without the connections that phase 1 lost; empty if they are not few."""
    missing = max(stream.lost for stream in phase1.result.streams)
    planned = max(stream.planned for stream in phase1.result.streams)
    if not 0 < missing <= FEW_MISSING * planned:
        return ""
    return f", or do without {counted(missing, 'connection')} of {planned:,} by `phase1_loss: {missing}`"


def _check_any_arrived(trials: Sequence[TrialRecord], which: str = "") -> None:
    """Raises DutError when no frame of `trials` arrived; `which` follows the last trial's title in the error."""
    streams = [stream for trial in trials for stream in trial.result.streams]
    if any(map(_arrived, streams)):
        return
    raise DutError(
        f"the gateway forwards nothing: none of {sum(stream.sent for stream in streams):,} frames came through in "
        f"{trials[-1].title}{which}; check the gateway's routes and rules"
    )


def _check_each_arrived(trials: Sequence[TrialRecord], which: str) -> None:
    """Raises DutError when all that arrived in `trials` are frames of other streams, such as the other direction's."""
    sent: Counter[str] = Counter()
    arrived: Counter[str] = Counter()
    for stream in (stream for trial in trials for stream in trial.result.streams):
        sent[stream.name] += stream.sent
        arrived[stream.name] += _arrived(stream)
    if silent := [name for name in sent if not arrived[name] and sent[name] >= FEWEST_SILENT]:
        frames = sum(sent[name] for name in silent)
        raise DutError(
            f"the gateway forwards nothing of {enumerated(silent)}: none of {frames:,} frames came through in "
            f"{trials[-1].title}{which}, but {arrived.total():,} others did; check the gateway's routes and rules for "
            "that direction"
        )


def _arrived(stream: StreamResult) -> int:
    return stream.received + stream.timed_out + stream.corrupt + stream.misrouted
