# SPDX-License-Identifier: Apache-2.0
"""The records of trials, of search steps that are made of them, and of transfers between hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, Self

from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.plan.model.units import Unit, format_quantity
from natxy.results.dut_counts import DutCounts
from natxy.results.dut_load import DutLoad
from natxy.search.outcome import Outcome
from natxy.system.core_watch import Absence
from natxy.untrusted.values import Moment, Real, Whole


class TrialKind(StrEnum):
    PHASE1 = "phase1"
    SYN_ACK = "syn-ack"
    ACK = "ack"
    VALIDATE = "validate"
    TRAFFIC = "traffic"
    LIVES = "lives"
    QUERIES = "queries"


KIND_WORDS: Final = {
    TrialKind.PHASE1: "phase 1",
    TrialKind.SYN_ACK: "SYN-ACK",
    TrialKind.ACK: "ACK",
    TrialKind.VALIDATE: "validation",
    TrialKind.TRAFFIC: "traffic",
    TrialKind.LIVES: "lives of connections",
    TrialKind.QUERIES: "queries",
}


MAKING: Final = frozenset({TrialKind.PHASE1, TrialKind.SYN_ACK, TrialKind.ACK, TrialKind.LIVES})
"""The kinds of trials that make connections: one for UDP, the three steps of a handshake for TCP, and whole lives."""


def trial_title(kind: TrialKind, rate_fps: float) -> str:
    """Names a trial, such as `traffic at 812.5 kfps per direction`."""
    unit = Unit.CPS if kind in MAKING else Unit.QPS if kind == TrialKind.QUERIES else Unit.FPS
    direction = " per direction" if kind == TrialKind.TRAFFIC else ""
    return f"{KIND_WORDS[kind]} at {format_quantity(rate_fps, unit)}{direction}"


class Purpose(StrEnum):
    """`prepare`: the trial establishes a condition, such as connections; `measure`: the search decides by it."""

    PREPARE = "prepare"
    MEASURE = "measure"


@dataclass(frozen=True)
class TrialRecord:
    """Holds one trial of the engine; its fields are the columns of the table `trial`.

    `number` is the step of the search, `attempt` counts the attempts at it from 1. `step_rate` is the rate of the step,
    `rate_fps` the rate of each stream of this trial. The counts are sums over all streams; `reordered` is None when it
    is unknown of one. `gateway_pause_s` is how long the gateway's core was taken from it, None when that is unknown;
    `gateway_stolen_s` is the part that the machine's host took, `gateway_delayed_s` that of other tasks. `disturbance`
    says how this explains that the trial failed; None when it does not. `dut_load` is what the DUT spent, `dut_counts`
    what it counted; None when that is unknown.
    """

    id: Whole
    number: Whole
    attempt: Whole
    kind: TrialKind
    purpose: Purpose
    step_rate: Real
    rate_fps: Real
    verdict: Verdict
    cause: Cause
    reason: str
    started_at: Moment
    duration_s: Real
    planned: Whole
    sent: Whole
    unsent: Whole
    received: Whole
    lost: Whole
    duplicate: Whole
    reordered: Whole | None
    corrupt: Whole
    misrouted: Whole
    stale: Whole
    tester_drops: Whole
    result: TrialResult
    gateway_pause_s: Real | None = None
    gateway_stolen_s: Real | None = None
    gateway_delayed_s: Real | None = None
    disturbance: str | None = None
    dut_load: DutLoad | None = None
    dut_counts: DutCounts | None = None

    @classmethod
    def of(cls, result: TrialResult, *, absence: Absence | None = None, **setting: Any) -> Self:
        """Returns the record of a result that is not stored yet; `setting` has the fields that a result has not.

        `absence` is how long the gateway's core ran something else, None if unknown.
        """
        counts: dict[str, Any] = {
            name: _sum([getattr(stream, name) for stream in result.streams]) for name in _STREAM_COUNTS
        }
        return cls(
            id=0,
            verdict=result.verdict,
            cause=result.cause,
            reason=result.reason,
            duration_s=result.duration_s,
            stale=result.stale,
            tester_drops=sum(port.missed + port.no_buffer + port.kernel_drops for port in result.ports),
            result=result,
            gateway_pause_s=absence.total_s if absence else None,
            gateway_stolen_s=absence.stolen_s if absence else None,
            gateway_delayed_s=absence.delayed_s if absence else None,
            **counts,
            **setting,
        )

    @property
    def title(self) -> str:
        """The trial's name, such as `traffic at 812.5 kfps per direction`."""
        return trial_title(self.kind, self.rate_fps)

    @property
    def counts(self) -> dict[str, int | None]:
        """The counts of frames, by name; None for an unknown one."""
        return {name: getattr(self, name) for name in (*_STREAM_COUNTS, "stale", "tester_drops")}

    @property
    def failed_to_prepare(self) -> bool:
        """True when the condition was not established: the trial decides nothing, and its step is tried again."""
        return self.purpose == Purpose.PREPARE and self.verdict == Verdict.FAIL

    @property
    def failed(self) -> bool:
        """True when the trial counts against the gateway."""
        return self.purpose == Purpose.MEASURE and self.verdict == Verdict.FAIL

    @property
    def failed_by_corruption(self) -> bool:
        """True when it failed by loss, and each frame that it lost had arrived with a wrong checksum or length."""
        lossy = self.failed and self.cause == Cause.LOSS and self.lost > 0
        return lossy and all(each.lost <= each.corrupt for each in self.result.streams)

    @property
    def undecided(self) -> bool:
        """True when the trial decides nothing about the gateway."""
        return self.verdict in {Verdict.INVALID, Verdict.DISTURBED} or self.failed_to_prepare

    @property
    def tester_pause_s(self) -> float:
        """The time that the tester's core was taken from it: the longest pause, or all above 1 ms if that is longer."""
        pacings = [stream.pacing for stream in self.result.streams]
        return max((max(pacing.max_pause_ns, pacing.pauses_ns) for pacing in pacings), default=0) / 1e9


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


_STREAM_COUNTS: Final = [field.name for field in fields(TrialRecord) if field.name in StreamResult.model_fields]


@dataclass(frozen=True)
class TransferRecord:
    """Holds one direction of test `number` between hosts; its fields are the columns of the table `transfer`."""

    number: Whole
    direction: str
    started_at: Moment
    duration_s: Real
    goodput_bps: Real
    retransmits: Whole


@dataclass(frozen=True)
class StepRecord:
    """Holds all trials of one attempt at one rate; the step passes when every trial does."""

    number: Whole
    attempt: Whole
    rate: Real
    outcome: Outcome
    cause: Cause
    reason: str
    trials: tuple[TrialRecord, ...]


def step_of(number: int, attempt: int, trials: Sequence[TrialRecord]) -> StepRecord:
    """Returns the step that these trials make."""
    # A trial that does not pass ends the attempt.
    decisive = trials[-1]
    return StepRecord(
        number=number,
        attempt=attempt,
        rate=decisive.step_rate,
        outcome=Outcome.UNPREPARED if decisive.failed_to_prepare else Outcome(decisive.verdict.value),
        cause=decisive.cause,
        reason=decisive.reason,
        trials=tuple(trials),
    )
