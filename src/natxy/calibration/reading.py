# SPDX-License-Identifier: Apache-2.0
"""Compares the measured figures and counts of a case with their true values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from natxy.calibration.case import Case, Expected
from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit, format_duration
from natxy.results.records import ExperimentRecord, State
from natxy.results.trials import KIND_WORDS, TrialKind, TrialRecord

_FOREIGN: Final = {
    "wrong_softwire": "frames in the softwire of another",
    "headers_in_softwire": "frames with a header between their IP headers",
    "not_in_softwire": "frames in no softwire",
    "spent_hop_limit": "frames with an outer hop limit of 1",
    "ipv4_fragment": "fragments of IPv4",
    "ipv6_fragment": "fragments of IPv6",
    "wrong_mapping": "frames with another's mapped address",
    "not_mapped": "frames that are not mapped",
    "tcp": "segments that the tester did not send",
}
COUNTS: Final = {
    **_FOREIGN,
    "received": "frames received",
    "lost": "frames lost",
    "duplicate": "duplicates",
    "corrupt": "corrupt frames",
    "misrouted": "misrouted frames",
    "reordered": "reordered frames",
}
_DURING: Final = (
    {TrialKind.TRAFFIC: ""}
    | {kind: f" in the {words}" for kind, words in KIND_WORDS.items() if kind != TrialKind.TRAFFIC}
    | {TrialKind.PHASE1: " in phase 1"}
)
# The figure of a case whose tester is stalled.
INVALID: Final = "stalled trials that are invalid"
# A stall is longer than any pause, so pauses excuse nothing.
_ALL_INVALID: Final = Expected(100, "counted", tolerated_pause_s=math.inf)
_SECOND: Final = {Unit.NS: 1e-9, Unit.SECONDS: 1.0}


class Standing(StrEnum):
    """`disturbed`: the error exceeds the tolerance, and measured pauses of a core explain it.

    `unmeasured`: the time was up before.
    """

    OK = "ok"
    UNMEASURED = "unmeasured"
    DISTURBED = "disturbed"
    WRONG = "wrong"


@dataclass(frozen=True)
class Pauses:
    """The pauses of the two cores in seconds, in the trial with the longest: for each core its longest pause or the sum
    of those above 1 ms, whichever is longer, and for both together the sum of the two. The figure counts from a moment
    within a change that took `span_s` longer than the gateway needs."""

    tester_s: float = 0.0
    gateway_s: float = 0.0
    both_s: float = 0.0
    span_s: float = 0.0

    def __str__(self) -> str:
        tester, gateway = format_duration(self.tester_s), format_duration(self.gateway_s)
        span = f", and the change took {format_duration(self.span_s)} longer" if self.span_s else ""
        return f"in one trial the tester's core paused for up to {tester}, the gateway's for up to {gateway}{span}"


@dataclass(frozen=True)
class Reading:
    """One figure or count of a case.

    `what` describes `figure` in words. `measured` is None without a result, for the `reason` given. `pauses` are those
    of the trials that the value comes from; `folder` is that of their run.
    """

    case: str
    procedure: str
    figure: str
    what: str
    unit: Unit
    expected: Expected
    measured: float | None
    pauses: Pauses = Pauses()
    reason: str = ""
    folder: Path = Path()
    unmeasured: bool = False

    @property
    def error(self) -> float | None:
        return None if self.measured is None else self.measured - self.expected.truth

    @property
    def ok(self) -> bool:
        return self.standing == Standing.OK

    @property
    def standing(self) -> Standing:
        """Pauses explain an error of a time no longer than themselves, and any other error if they are longer than the
        expected value tolerates."""
        if self.unmeasured:
            return Standing.UNMEASURED
        pause_s = self.pauses.both_s + self.pauses.span_s
        excess = math.inf if self.measured is None else self.expected.excess(self.measured)
        # Figures are sums and quotients of floating point numbers.
        if excess <= 1e-9 * abs(self.expected.truth):
            return Standing.OK
        second = _SECOND.get(self.unit)
        too_far = self.measured is not None and second is not None and excess * second > pause_s
        return Standing.WRONG if too_far or pause_s <= self.expected.tolerated_pause_s else Standing.DISTURBED

    @property
    def remark(self) -> str:
        """The possible reasons of an error."""
        if self.unmeasured:
            return self.reason
        return "" if self.ok else "; ".join(filter(None, (self.reason, str(self.pauses))))


def readings(case: Case, record: ExperimentRecord, folder: Path) -> Iterator[Reading]:
    """Yields the readings of a case from its experiment in the run in `folder`. A figure is the median of the
    repetitions."""
    trials = [trial for repetition in record.repetitions for trial in repetition.trials]
    valid = [trial for trial in trials if trial.verdict in {Verdict.PASS, Verdict.FAIL}]
    pauses = _pauses(valid)
    # A search for a limit that is known ends with a bound only where the tester could not send it.
    bound = any(each.lower_bound is not None and each.upper_bound is None for each in record.repetitions)
    spoiling = _pauses(trials) if bound or record.state == State.TESTER_LIMIT else Pauses()

    def reading(figure: str, what: str, unit: Unit, expected: Expected, measured: float | None) -> Reading:
        during = spoiling if measured is None or bound else pauses
        if (span := case.span) and figure.startswith(span.counted):
            took = record.figure_statistics.get(span.figure)
            during = replace(during, span_s=max(0.0, took.median - span.known_s) if took else 0.0)
        what = f"{case.title}: {what}"
        return Reading(
            case.name, case.procedure, figure, what, unit, expected, measured, during, record.reason, folder
        )  # fmt: skip

    figures = {figure.name: figure for figure in record.declaration.figures}
    for name, expected in case.figures.items():
        summary = record.figure_statistics.get(name)
        figure = figures[name]
        yield reading(name, figure.title, Unit(figure.unit), expected, summary.median if summary else None)
    for (kind, name), expected in case.counts.items():
        counted = [trial for trial in valid if trial.kind == kind]
        count = float(_count(counted[-1], name)) if counted else None
        figure_name = name if kind == TrialKind.TRAFFIC else f"{kind}_{name}"
        yield reading(figure_name, COUNTS[name] + _DURING[kind], Unit.FRAMES, expected, count)
    if case.stalled:
        found = sum(trial.verdict == Verdict.INVALID for trial in trials)
        invalid = 100 * found / len(trials) if trials else None
        yield reading("invalid_trials", INVALID, Unit.PERCENT, _ALL_INVALID, invalid)


def _count(trial: TrialRecord, name: str) -> int:
    if name in _FOREIGN:
        return sum(port.foreign.get(name, 0) for port in trial.result.ports)
    count: int = getattr(trial, name)
    return count


def _pauses(trials: Sequence[TrialRecord]) -> Pauses:
    by_trial = [_tester_and_gateway(trial) for trial in trials]
    if not by_trial:
        return Pauses()
    tester_s, gateway_s = map(max, zip(*by_trial, strict=True))
    return Pauses(tester_s, gateway_s, max(map(sum, by_trial)))


def _tester_and_gateway(trial: TrialRecord) -> tuple[float, float]:
    return trial.tester_pause_s, trial.gateway_pause_s or 0.0
