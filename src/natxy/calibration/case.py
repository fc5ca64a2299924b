# SPDX-License-Identifier: Apache-2.0
"""One experiment against the reference gateway, what has to come out of it, and what did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from natxy.calibration.scale import MAX_PAUSE_S
from natxy.engine.messages import Verdict
from natxy.plan.units import Unit, format_duration
from natxy.results.records import ExperimentRecord, TrialKind, TrialRecord

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


@dataclass(frozen=True)
class Expected:
    """What is true of the gateway, or follows from it. A tester may measure so much below and above, for the reason
    `why`."""

    truth: float
    why: str
    below: float = 0.0
    above: float = 0.0


def within(truth: float, tolerance: float, why: str) -> Expected:
    return Expected(truth, why, tolerance, tolerance)


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
class Reading:
    """What one figure or count of a case turned out to be; `measured` is None without a result. `remark`: why it may
    not be as it should be."""

    case: str
    procedure: str
    what: str
    unit: Unit
    expected: Expected
    measured: float | None
    remark: str = ""

    @property
    def error(self) -> float | None:
        return None if self.measured is None else self.measured - self.expected.truth

    @property
    def ok(self) -> bool:
        # Figures are sums and quotients of floating point.
        rounding = 1e-9 * abs(self.expected.truth)
        error = self.error
        return error is not None and -self.expected.below - rounding <= error <= self.expected.above + rounding


def readings(case: Case, record: ExperimentRecord) -> Iterator[Reading]:
    """Of figures, the median of the repetitions."""
    remark = record.reason or _paused(record)
    titles = {figure.name: figure for figure in record.declaration.figures}
    for name, expected in case.figures.items():
        summary = record.figure_statistics.get(name)
        figure = titles[name]
        measured = summary.median if summary else None
        yield _reading(case, figure.title, Unit(figure.unit), expected, measured, remark)
    trials = [trial for repetition in record.repetitions for trial in repetition.trials]
    for (kind, name), expected in case.counts.items():
        valid = [trial for trial in trials if trial.kind == kind and trial.verdict != Verdict.INVALID]
        count = float(getattr(valid[-1], name)) if valid else None
        yield _reading(case, COUNTS[name] + _IN[kind], Unit.FRAMES, expected, count, remark)
    if case.stalled:
        yield _reading(case, INVALID, Unit.PERCENT, exactly(100), _invalid_percent(trials), remark)


def _invalid_percent(trials: list[TrialRecord]) -> float | None:
    if not trials:
        return None
    return 100 * sum(trial.verdict == Verdict.INVALID for trial in trials) / len(trials)


def _paused(record: ExperimentRecord) -> str:
    """Why a reading may be wrong that the tester itself thinks nothing of."""
    trials = [trial for repetition in record.repetitions for trial in repetition.trials]
    valid = [trial.result for trial in trials if trial.verdict != Verdict.INVALID]
    longest_s = max((stream.pacing.max_pause_ns for each in valid for stream in each.streams), default=0) / 1e9
    if longest_s <= MAX_PAUSE_S:
        return ""
    return f"the machine was busy: the tester's core paused for {format_duration(longest_s)}"


def _reading(case: Case, what: str, unit: Unit, expected: Expected, measured: float | None, remark: str) -> Reading:
    return Reading(case.name, case.procedure, f"{case.title}: {what}", unit, expected, measured, remark)
