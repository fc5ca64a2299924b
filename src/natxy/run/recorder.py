# SPDX-License-Identifier: Apache-2.0
"""Keeps every trial of a repetition, and says from them why it ended without a result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from natxy.engine.interface import OnProgress
from natxy.engine.messages.results import Verdict
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import FinishedTrial
from natxy.results.pcap import PcapWriter
from natxy.results.records import Purpose, TransferRecord, TrialKind
from natxy.results.store import RunStore
from natxy.run.events import RunListener
from natxy.search.outcome import Attempt, NeverPrepared, TesterLimitReached
from natxy.tcp.hosts import TcpTest, Transfer


class TrialKeeper:
    """Stores each trial of a repetition, then tells the listener."""

    def __init__(self, store: RunStore, foreign: PcapWriter, listener: RunListener) -> None:
        self._store = store
        self._foreign = foreign
        self._listener = listener
        self.repetition_id = 0
        self._last_invalid: FinishedTrial | None = None
        self._last_failed_phase1: FinishedTrial | None = None
        self._lowest_rate = math.inf
        self._at_lowest_rate: list[FinishedTrial] = []

    def limit_reason(self, limit: TesterLimitReached) -> str:
        """A step may have several trials, each with its own rate: names the one that the tester failed in."""
        trial = self._last_invalid
        assert trial is not None
        invalid = "all" if limit.invalid == limit.tries else str(limit.invalid)
        return (
            f"tester limit reached in {trial.title}: {limit.tries} tries, {invalid} invalid; the last: "
            f"{trial.result.reason}"
        )

    def check_forwarding(self, result: ProcedureResult) -> None:
        """DutError after a search in which no rate passed, when of its lowest rate nothing came through at all."""
        if result.lower_bound is not None or result.upper_bound is None:
            return
        _check_any_came_through(self._at_lowest_rate, ", the search's lowest rate")

    def without_connections(self, never: NeverPrepared, experiment: Experiment) -> ProcedureResult:
        """What a repetition ends with that phase 1 never prepared; DutError when nothing at all came through in it."""
        trial = self._last_failed_phase1
        assert trial is not None
        _check_any_came_through([trial])
        others = ", the others were invalid" if never.unprepared < never.tries else ""
        return ProcedureResult(
            dict.fromkeys(figure.name for figure in experiment.procedure.figures),
            remark=f"{trial.title} failed in {never.unprepared} of {never.tries} tries{others}: lower `phase1_rate` or "
            "enlarge the gateway's table",
        )

    def attempt_started(self, attempt: Attempt) -> None:
        if attempt.rate <= self._lowest_rate:
            self._lowest_rate, self._at_lowest_rate = attempt.rate, []
        self._listener.attempt_started(attempt)

    def progress(self, kind: TrialKind) -> OnProgress:
        return lambda progress: self._listener.progress(kind, progress)

    def finished(self, trial: FinishedTrial) -> None:
        self._store.add_trial(
            self.repetition_id,
            number=trial.attempt.step,
            attempt=trial.attempt.number,
            kind=trial.kind,
            purpose=trial.purpose,
            step_rate=trial.attempt.rate,
            rate_fps=trial.rate_fps,
            started_at=trial.started_at,
            result=trial.result,
            gateway_pause_s=trial.gateway_pause_s,
        )
        self._foreign.add(trial.result.samples)
        self.replayed(trial)
        self._listener.trial_finished(trial)

    def transferred(self, number: int, started_at: str, test: TcpTest, found: Mapping[str, Transfer]) -> None:
        for direction, transfer in found.items():
            record = TransferRecord(
                number, direction, started_at, test.duration_s, transfer.goodput_bps, transfer.retransmits
            )
            self._store.add_transfer(self.repetition_id, record)
        self._listener.test_finished(number, found)

    def replayed(self, trial: FinishedTrial) -> None:
        if trial.attempt.rate == self._lowest_rate:
            self._at_lowest_rate.append(trial)
        if trial.result.verdict == Verdict.INVALID:
            self._last_invalid = trial
        elif trial.result.verdict == Verdict.FAIL and trial.purpose == Purpose.PREPARE:
            self._last_failed_phase1 = trial


def _check_any_came_through(trials: Sequence[FinishedTrial], which: str = "") -> None:
    """`which`: words that follow the last trial's title."""
    streams = [stream for trial in trials for stream in trial.result.streams]
    if any(stream.received + stream.corrupt + stream.misrouted for stream in streams):
        return
    raise DutError(
        f"the gateway forwards nothing: none of {sum(stream.sent for stream in streams):,} frames came through in "
        f"{trials[-1].title}{which}; look at the gateway's routes and rules"
    )
