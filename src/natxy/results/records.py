# SPDX-License-Identifier: Apache-2.0
"""A run as its readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from ruamel.yaml import YAML

from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.traffic import CellValue
from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import Figure, ProcedureDeclaration
from natxy.results.bounded import Bound, Bounded
from natxy.results.curves import Curve
from natxy.results.selftest import SelfTest
from natxy.results.statistics import Headline, Ratio, Summary, ratio, summarize_bounded, summarize_headlines
from natxy.results.tester import Tester
from natxy.search.outcome import Outcome
from natxy.system.machine import LoadOfRun


class RunState(StrEnum):
    """`died`: the process is gone without having said how the run ended."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    DIED = "died"


class State(StrEnum):
    """Of an experiment or a repetition. `no_result`: measured to the end, but there is no headline, of an experiment
    not in all its repetitions. `tester_limit` and `host_failed`, a host in the tester's place, say nothing of the DUT;
    `failed` is the DUT that could not be reached, set up or reset, or forwards nothing; `skipped` needed a result that
    is missing."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    NO_RESULT = "no_result"
    TESTER_LIMIT = "tester_limit"
    HOST_FAILED = "host_failed"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class TrialKind(StrEnum):
    PHASE1 = "phase1"
    VALIDATE = "validate"
    TRAFFIC = "traffic"


class Purpose(StrEnum):
    """`prepare` only brings about a condition, such as established connections; `measure` is what is searched."""

    PREPARE = "prepare"
    MEASURE = "measure"


@dataclass(frozen=True)
class TrialRecord:
    """One engine trial. `number` is the step of the search, `attempt` counts its retries from 1, `step_rate` is
    the rate searched; `rate_fps` is the rate of this trial's streams, each. `gateway_pause_s`: for how long the
    gateway's core was taken from it; None where nobody knows."""

    id: int
    number: int
    attempt: int
    kind: TrialKind
    purpose: Purpose
    step_rate: float
    rate_fps: float
    verdict: Verdict
    cause: Cause
    reason: str
    started_at: str
    duration_s: float
    planned: int
    sent: int
    unsent: int
    received: int
    lost: int
    duplicate: int
    reordered: int
    corrupt: int
    misrouted: int
    stale: int
    tester_drops: int
    result: TrialResult
    gateway_pause_s: float | None = None

    @property
    def failed_to_prepare(self) -> bool:
        """Nothing was measured after it: it decides nothing, and its step is tried again."""
        return self.purpose == Purpose.PREPARE and self.verdict == Verdict.FAIL


@dataclass(frozen=True)
class TransferRecord:
    """One direction of test `number` between hosts."""

    number: int
    direction: str
    started_at: str
    duration_s: float
    goodput_bps: float
    retransmits: int


@dataclass(frozen=True)
class StepRecord:
    """All trials of one attempt at one rate: the point of a search's chart. It passes when each of them does."""

    number: int
    attempt: int
    rate: float
    outcome: Outcome
    cause: Cause
    reason: str
    trials: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class RepetitionRecord:
    """`value`: the headline, such as the highest rate that passed; `figures`: all that the procedure declares, by name.

    Of a search, `lower_bound` passed and `upper_bound` failed, None when none did; both are the line's theoretical
    maximum where that passed. Without a search both are None. `reason`: why it ended without a result, or a remark on
    the one it has.
    """

    id: int
    number: int
    state: State
    value: float | None
    figures: dict[str, float | None]
    curves: tuple[Curve, ...]
    lower_bound: float | None
    upper_bound: float | None
    reason: str
    started_at: str
    finished_at: str | None
    trials: list[TrialRecord] = field(default_factory=list)
    transfers: list[TransferRecord] = field(default_factory=list)

    @property
    def bracket(self) -> float:
        """What a search left open; 0 without one."""
        if self.lower_bound is None or self.upper_bound is None:
            return 0.0
        return self.upper_bound - self.lower_bound

    @property
    def measured(self) -> bool:
        """To the end, if only to find that there is no headline."""
        return self.state in (State.DONE, State.NO_RESULT)

    @cached_property
    def steps(self) -> list[StepRecord]:
        groups: dict[tuple[int, int], list[TrialRecord]] = {}
        for trial in self.trials:
            groups.setdefault((trial.number, trial.attempt), []).append(trial)
        steps = []
        for (number, attempt), trials in groups.items():
            # What doesn't pass ends the attempt.
            decisive = trials[-1]
            steps.append(
                StepRecord(
                    number=number,
                    attempt=attempt,
                    rate=decisive.step_rate,
                    outcome=Outcome.UNPREPARED if decisive.failed_to_prepare else Outcome(decisive.verdict.value),
                    cause=decisive.cause,
                    reason=decisive.reason,
                    trials=tuple(trials),
                )
            )
        return steps


_BOUNDS: Final = {1: Bound.AT_LEAST, 0: Bound.EXACTLY, -1: Bound.AT_MOST}


@dataclass(frozen=True)
class ExperimentRecord:
    """Holds an experiment as it was planned, and what came of it.

    `reason` says why it ended as it did, or is a remark on its repetitions. `rate_sources` has the experiments whose
    results the settings `rate` and `phase1_rate` are shares of, by these settings' names.
    """

    id: int
    planned: Experiment
    state: State
    reason: str
    dut: dict[str, Any] | None
    repetitions: list[RepetitionRecord] = field(default_factory=list)
    baseline: ExperimentRecord | None = None
    rate_sources: dict[str, ExperimentRecord] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def title(self) -> str:
        return self.planned.title

    @property
    def gateway(self) -> str:
        """The name of the gateway's driver."""
        return self.planned.gateway.driver

    @property
    def procedure(self) -> str:
        """The procedure's name in a plan."""
        return self.planned.procedure.name

    @property
    def declaration(self) -> ProcedureDeclaration:
        return self.planned.procedure

    @property
    def sweep(self) -> str | None:
        """The name of the swept experiment that this is a cell of."""
        return self.planned.sweep

    @property
    def cell(self) -> dict[str, CellValue]:
        """The swept fields, such as `frame_size` or `gateway.conntrack_max`, with their values in this cell."""
        return self.planned.cell

    @property
    def unit(self) -> Unit:
        """The headline's unit."""
        return self.planned.unit

    @property
    def is_only_a_lower_bound(self) -> bool:
        """The median counts searches of which no rate failed, or one of two without any that passed."""
        return self.statistics is not None and self.statistics.median_is_at_least

    @property
    def baseline_ratio(self) -> Ratio | None:
        """The source papers' throughput ratio."""
        return self.ratio_to(self.baseline) if self.baseline else None

    def ratio_to(self, other: ExperimentRecord) -> Ratio | None:
        """Median to median. What is compared with itself is within no spread."""
        if self.statistics is None or other.statistics is None:
            return None
        found = ratio(self.statistics, other.statistics)
        if found is None or found.bound or other is self or self.spread is None or other.spread is None:
            return found
        apart = abs(self.statistics.median - other.statistics.median)
        return replace(found, within_spread=apart <= max(self.spread, other.spread))

    @property
    def spread(self) -> float | None:
        """Maximum − minimum of the repetitions, or the last bracket of a search where that is wider; None where fewer
        than two have a result."""
        summary = self.statistics
        if summary is None or summary.count < 2:
            return None
        brackets = [repetition.bracket for repetition in self.repetitions if repetition.state == State.DONE]
        return max([summary.maximum - summary.minimum, *brackets])

    @property
    def baseline_ratio_percent(self) -> float | None:
        return 100 * self.baseline_ratio.value if self.baseline_ratio else None

    @property
    def values(self) -> list[float]:
        """The result of every repetition that has one."""
        return [headline.value for headline in self._headlines]

    @cached_property
    def statistics(self) -> Summary | None:
        return summarize_headlines(self._headlines)

    @property
    def _headlines(self) -> list[Headline]:
        return [
            Headline(r.value, r.lower_bound, r.upper_bound)
            for r in self.repetitions
            if r.state == State.DONE and r.value is not None
        ]

    @cached_property
    def figure_statistics(self) -> dict[str, Summary]:
        """Of every figure that any repetition has, by name, in the order they are declared."""
        summaries = {figure.name: summarize_bounded(self._bounded(figure)) for figure in self.declaration.figures}
        return {name: summary for name, summary in summaries.items() if summary}

    def _bounded(self, figure: Figure) -> list[Bounded]:
        """Returns the figure of every repetition that measured it, but for those where two bounds contradict."""
        source = self.rate_sources.get("rate")
        by_rate = figure.with_rate if source and source.is_only_a_lower_bound else 0
        found = []
        for repetition in self.repetitions:
            value = repetition.figures.get(figure.name)
            if not repetition.measured or value is None:
                continue
            at_least = repetition.lower_bound is not None and repetition.upper_bound is None
            bounds = {figure.with_headline if at_least else 0, by_rate} - {0}
            if len(bounds) < 2:
                found.append(Bounded(value, _BOUNDS[sum(bounds)]))
        return found


@dataclass(frozen=True)
class RunRecord:
    """`active_s`: how long it was under way, without the time between being cut short and being resumed. `tester`: None
    where there was none, or the run was the tester's own test. `self_test`: what was known then of its limits."""

    id: int
    name: str
    started_at: str
    finished_at: str | None
    active_s: float
    state: RunState
    plan_yaml: str
    seed: int
    natxy_version: str
    engine: dict[str, Any]
    testbed: dict[str, str]
    deviations: list[str]
    machine: dict[str, str]
    load: LoadOfRun
    tester: Tester | None = None
    self_test: SelfTest | None = None
    experiments: list[ExperimentRecord] = field(default_factory=list)

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """As it was resolved; fields may be missing of a run of another version."""
        plan: Mapping[str, Any] = YAML(typ="safe").load(self.plan_yaml)
        return plan
