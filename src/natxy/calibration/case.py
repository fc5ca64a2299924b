# SPDX-License-Identifier: Apache-2.0
"""One experiment against the reference gateway, what has to come out of it, and what did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from natxy.calibration.scale import MAX_PAUSE_S
from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit, format_duration
from natxy.results.records import ExperimentRecord, State, TrialKind, TrialRecord

COUNTS: Final = {
    "received": "frames received",
    "lost": "frames lost",
    "duplicate": "duplicates",
    "corrupt": "corrupt frames",
    "misrouted": "misrouted frames",
    "reordered": "reordered frames",
}
_IN: Final = {TrialKind.PHASE1: " in phase 1", TrialKind.VALIDATE: " in the validation", TrialKind.TRAFFIC: ""}
# Of experiments whose trials the tester spoils itself.
INVALID: Final = "spoiled trials that are invalid"
_SECOND: Final = {Unit.NS: 1e-9, Unit.SECONDS: 1.0}


class Standing(StrEnum):
    """`disturbed`: not as it should be, and pauses of a core that were measured are why."""

    OK = "ok"
    DISTURBED = "disturbed"
    WRONG = "wrong"


@dataclass(frozen=True)
class Expected:
    """What is true of the gateway, or follows from it. A tester may measure so much below and above, for the reason
    `why`. Pauses of a core of up to `bears_pause_s` together are no reason to measure anything else."""

    truth: float
    why: str
    below: float = 0.0
    above: float = 0.0
    bears_pause_s: float = MAX_PAUSE_S

    def excess(self, measured: float) -> float:
        """How far it is from what is allowed."""
        error = measured - self.truth
        return max(0.0, error - self.above, -error - self.below)


def within(truth: float, tolerance: float, why: str, bears_pause_s: float = MAX_PAUSE_S) -> Expected:
    return Expected(truth, why, tolerance, tolerance, bears_pause_s)


def exactly(truth: float, why: str = "counted") -> Expected:
    return Expected(truth, why)


@dataclass(frozen=True)
class Case:
    """`experiment`: as in a plan, without what follows. `figures` are the procedure's, by name; `counts` those of its
    last valid trial of a kind, by their names in COUNTS. `stalled`: the engine is stopped for a moment in every
    trial."""

    name: str
    title: str
    gateway: Mapping[str, Any]
    experiment: Mapping[str, Any]
    figures: Mapping[str, Expected] = field(default_factory=dict)
    counts: Mapping[tuple[TrialKind, str], Expected] = field(default_factory=dict)
    stalled: bool = False

    @property
    def procedure(self) -> str:
        given = self.experiment["procedure"]
        return str(given["name"] if isinstance(given, Mapping) else given)

    def planned(self) -> dict[str, Any]:
        """As in a plan."""
        gateway = {"driver": "reference", **self.gateway}
        return {"name": self.name, "title": self.title, "gateway": gateway, **self.experiment}


@dataclass(frozen=True)
class Pauses:
    """Of each core, and of both together, in the trial with the longest, in seconds: the longest pause, or all above
    1 ms together."""

    tester_s: float = 0.0
    gateway_s: float = 0.0
    both_s: float = 0.0

    def __str__(self) -> str:
        tester, gateway = format_duration(self.tester_s), format_duration(self.gateway_s)
        return f"in one trial the tester's core paused for up to {tester}, the gateway's for up to {gateway}"


@dataclass(frozen=True)
class Reading:
    """What one figure or count of a case turned out to be; `measured` is None without a result, of which `reason`
    tells. `what`: `figure` in words. `pauses`: of the trials that it is from, in the run in `folder`."""

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

    @property
    def error(self) -> float | None:
        return None if self.measured is None else self.measured - self.expected.truth

    @property
    def ok(self) -> bool:
        return self.standing == Standing.OK

    @property
    def standing(self) -> Standing:
        """A time is off by no more than what pauses added to it; of anything else no more can be said than that they
        were longer than it bears."""
        pause_s = self.pauses.both_s
        excess = math.inf if self.measured is None else self.expected.excess(self.measured)
        # Figures are sums and quotients of floating point.
        if excess <= 1e-9 * abs(self.expected.truth):
            return Standing.OK
        second = _SECOND.get(self.unit)
        too_far = self.measured is not None and second is not None and excess * second > pause_s
        return Standing.WRONG if too_far or pause_s <= self.expected.bears_pause_s else Standing.DISTURBED

    @property
    def remark(self) -> str:
        """Why it may not be as it should be."""
        return "" if self.ok else "; ".join(filter(None, (self.reason, str(self.pauses))))


def readings(case: Case, record: ExperimentRecord, folder: Path) -> Iterator[Reading]:
    """Of the run in `folder`; of figures, the median of the repetitions."""
    trials = [trial for repetition in record.repetitions for trial in repetition.trials]
    valid = [trial for trial in trials if trial.verdict != Verdict.INVALID]
    pauses = _pauses(valid)
    spoiling = _pauses(trials) if record.state == State.TESTER_LIMIT else Pauses()

    def reading(figure: str, what: str, unit: Unit, expected: Expected, measured: float | None) -> Reading:
        during = spoiling if measured is None else pauses
        what = f"{case.title}: {what}"
        return Reading(
            case.name, case.procedure, figure, what, unit, expected, measured, during, record.reason, folder
        )  # fmt: skip

    titles = {figure.name: figure for figure in record.declaration.figures}
    for name, expected in case.figures.items():
        summary = record.figure_statistics.get(name)
        figure = titles[name]
        yield reading(name, figure.title, Unit(figure.unit), expected, summary.median if summary else None)
    for (kind, name), expected in case.counts.items():
        counted = [trial for trial in valid if trial.kind == kind]
        count = float(getattr(counted[-1], name)) if counted else None
        of = name if kind == TrialKind.TRAFFIC else f"{kind}_{name}"
        yield reading(of, COUNTS[name] + _IN[kind], Unit.FRAMES, expected, count)
    if case.stalled:
        invalid = 100 * (len(trials) - len(valid)) / len(trials) if trials else None
        yield reading("invalid_trials", INVALID, Unit.PERCENT, _ALL, invalid)


# The tester is stopped for longer than any pause.
_ALL: Final = Expected(100, "counted", bears_pause_s=math.inf)


def _pauses(trials: Sequence[TrialRecord]) -> Pauses:
    of_each = [_of_both(trial) for trial in trials]
    if not of_each:
        return Pauses()
    tester_s, gateway_s = map(max, zip(*of_each, strict=True))
    return Pauses(tester_s, gateway_s, max(map(sum, of_each)))


def _of_both(trial: TrialRecord) -> tuple[float, float]:
    pacings = [stream.pacing for stream in trial.result.streams]
    tester_s = max(max(pacing.max_pause_ns, pacing.pauses_ns) for pacing in pacings) / 1e9
    return tester_s, trial.gateway_pause_s or 0.0
