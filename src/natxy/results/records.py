# SPDX-License-Identifier: Apache-2.0
"""The records of a run, its experiments and their repetitions, as the reader returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.model.addresses import IPNetwork
from natxy.plan.model.terms import CellValue
from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import CORE_SPEED, Figure
from natxy.plan.yaml.parsing import parse
from natxy.results.analysis.ratios import Ratio, paired_ratio, precision, unpaired_ratio
from natxy.results.bounded import Bound, Bounded
from natxy.results.curves import Curve
from natxy.results.planned import UNKNOWN
from natxy.results.selftest import SelfTest, TesterIdentity
from natxy.results.statistics import Headline, Summary, summarize_bounded, summarize_headlines
from natxy.results.trials import StepRecord, TransferRecord, TrialRecord, step_of
from natxy.system.machine import LoadOfRun
from natxy.untrusted.texts import one_line
from natxy.untrusted.values import Moment, Real, Whole


class RunState(StrEnum):
    """The state of a run. `died`: the process is gone and did not record how the run ended."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    DIED = "died"


class State(StrEnum):
    """The state of an experiment or a repetition.

    `no_result`: measured to the end without a headline; for an experiment, in some repetitions at least.
    `tester_limit` and `host_failed`: the tester, or a host that replaces it, fell short; the DUT was not measured.
    `failed`: the DUT could not be reached, set up or reset, or it forwards nothing.
    `skipped`: the experiment needs a result that is missing.
    """

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    NO_RESULT = "no_result"
    TESTER_LIMIT = "tester_limit"
    HOST_FAILED = "host_failed"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RepetitionRecord:
    """Holds one repetition of an experiment.

    `value` is the headline, such as the highest rate that passed; `figures` has all figures that the procedure
    declares, by name. `lower_bound` is the highest rate of the search that passed, `upper_bound` the lowest that
    failed, None when none did; both are the line's theoretical maximum when that passed, and None without a search.
    `reason` says why there is no result, or is a remark on the result.
    """

    id: Whole
    number: Whole
    state: State
    value: Real | None
    figures: Mapping[str, Whole | Real | None]
    curves: tuple[Curve, ...]
    lower_bound: Real | None
    upper_bound: Real | None
    reason: str
    started_at: Moment
    finished_at: Moment | None
    trials: list[TrialRecord] = field(default_factory=list)
    transfers: list[TransferRecord] = field(default_factory=list)

    @property
    def measured(self) -> bool:
        """True when the repetition was measured to the end, even if it has no headline."""
        return self.state in (State.DONE, State.NO_RESULT)

    @cached_property
    def steps(self) -> list[StepRecord]:
        groups: dict[tuple[int, int], list[TrialRecord]] = {}
        for trial in self.trials:
            groups.setdefault((trial.number, trial.attempt), []).append(trial)
        return [step_of(number, attempt, trials) for (number, attempt), trials in groups.items()]


class PlacedTrial(NamedTuple):
    """A trial with the experiment and the repetition that it belongs to."""

    experiment: ExperimentRecord
    repetition: RepetitionRecord
    trial: TrialRecord


@dataclass(frozen=True)
class DutRecord:
    """Holds a gateway's description of itself; `configuration` is the exact text in force.

    `hardware` has the facts about its machine and the cards of its interfaces, as far as it told them.
    """

    name: str
    version: str
    settings: dict[str, str]
    configuration: str
    hardware: dict[str, str] = field(default_factory=dict)


_BOUNDS: Final = {1: Bound.AT_LEAST, 0: Bound.EXACTLY, -1: Bound.AT_MOST}


@dataclass(frozen=True)
class ExperimentRecord:
    """Holds an experiment as it was planned, and what came of it.

    `reason` says why it ended as it did, or is a remark on its repetitions. `duts` has the gateways from left to right;
    none if it was not set up. `rate_sources` has the experiments whose
    results the settings `rate` and `phase1_rate` are shares of, by these settings' names. `in_blocks`: repetitions of
    several experiments with the same number were measured in one block.
    """

    id: int
    planned: Experiment
    state: State
    reason: str
    duts: tuple[DutRecord, ...]
    repetitions: list[RepetitionRecord] = field(default_factory=list)
    baseline: ExperimentRecord | None = None
    rate_sources: dict[str, ExperimentRecord] = field(default_factory=dict)
    in_blocks: bool = False

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def title(self) -> str:
        return self.planned.title

    @property
    def gateway(self) -> str:
        """The name of the gateway, or of those in a row."""
        return self.planned.gateway.title

    @property
    def reported(self) -> dict[str, str]:
        """The versions and settings that its gateways reported, those of several after their gateway's place."""
        several = len(self.duts) > 1
        return {
            f"{number} {dut.name}: {name}" if several else name: value
            for number, dut in enumerate(self.duts, 1)
            for name, value in {"version": dut.version, **dut.settings}.items()
        }

    @property
    def pool(self) -> IPNetwork | None:
        """The public addresses that the gateway was to use; None for its own alone, and where nobody knows them."""
        return None if self.gateway == UNKNOWN else self.planned.pool

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
    def all_trials(self) -> Iterator[PlacedTrial]:
        """The engine's trials in all repetitions."""
        return (PlacedTrial(self, each, trial) for each in self.repetitions for trial in each.trials)

    @property
    def is_only_a_lower_bound(self) -> bool:
        """True when the true median may be higher, because a search that it counts was cut off by its limits."""
        return self.statistics is not None and self.statistics.median_is_at_least

    @property
    def baseline_ratio(self) -> Ratio | None:
        """The ratio to the baseline: the throughput ratio of the source papers."""
        return self.ratio_to(self.baseline) if self.baseline else None

    def ratio_to(self, other: ExperimentRecord) -> Ratio | None:
        """Returns the ratio of the results, that of an experiment and itself without an interval."""
        if other.id == self.id:
            return Ratio(1.0) if self.statistics and self.statistics.median else None
        ratio = paired_ratio if self.in_blocks else unpaired_ratio
        return ratio(self.headlines, other.headlines)

    @property
    def precision(self) -> float | None:
        """Half the width of the interval that an experiment is repeated for; see `ratios.precision`."""
        return precision(self.headlines, self.baseline.headlines if self.baseline and self.in_blocks else None)

    @property
    def spread(self) -> float | None:
        """Maximum − minimum of the repetitions, or the widest bracket of a search if that is wider.

        None when fewer than two repetitions have a result.
        """
        summary = self.statistics
        if summary is None or summary.count < 2:
            return None
        brackets = [headline.bracket for headline in self.headlines.values()]
        return max([summary.maximum - summary.minimum, *brackets])

    @property
    def baseline_ratio_percent(self) -> float | None:
        return 100 * self.baseline_ratio.value if self.baseline_ratio else None

    @property
    def values(self) -> list[float]:
        """The results of the repetitions that have one."""
        return [headline.value for headline in self.headlines.values()]

    @cached_property
    def statistics(self) -> Summary | None:
        """The summary of the headline."""
        found = summarize_headlines([*self.headlines.values()])
        return found and replace(found, signed=self.declaration.headline().signed)

    def summary_of(self, figure: Figure) -> Summary | None:
        """Returns the summary of a figure of this procedure; None when no repetition has it."""
        return self.statistics if figure == self.declaration.headline() else self.figure_statistics.get(figure.name)

    @cached_property
    def headlines(self) -> dict[int, Headline]:
        """The results of the repetitions that have one, by the number of the repetition."""
        return {
            r.number: Headline(r.value, r.lower_bound, r.upper_bound, r.figures.get(CORE_SPEED.name))
            for r in self.repetitions
            if r.state == State.DONE and r.value is not None
        }

    @cached_property
    def figure_statistics(self) -> dict[str, Summary]:
        """The summaries of the figures that any repetition has, by name, in the order of their declaration."""
        summaries = {figure: summarize_bounded(self._bounded(figure)) for figure in self.declaration.figures}
        return {figure.name: replace(summary, signed=figure.signed) for figure, summary in summaries.items() if summary}

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
    """Holds a run.

    `active_s` is the time that it was under way, without pauses between an interruption and a resumption. `tester` is
    None when no real tester sent, or when the run was the tester's self-test. `self_test` is the self-test that was
    known when the run began.
    """

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
    caveats: list[Caveat]
    machine: dict[str, str]
    load: LoadOfRun
    tester: TesterIdentity | None = None
    self_test: SelfTest | None = None
    experiments: list[ExperimentRecord] = field(default_factory=list)

    @property
    def all_trials(self) -> Iterator[PlacedTrial]:
        """The engine's trials in all experiments."""
        return (placed for experiment in self.experiments for placed in experiment.all_trials)

    @property
    def host_test_count(self) -> int:
        """The number of tests between hosts, each of which has a transfer for each direction."""
        repetitions = (repetition for experiment in self.experiments for repetition in experiment.repetitions)
        return sum(len({transfer.number for transfer in repetition.transfers}) for repetition in repetitions)

    @property
    def is_of_scripts(self) -> bool:
        """True for trials that scripts of siitperf asked for, one by one: there is no plan, and natxy repeats none."""
        return self.plan_yaml == f"name: {self.name}\n"

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The resolved plan; a run of another version of natxy may lack fields.

        PlanError when the stored text is none.
        """
        what = f"the run {self.name} of {self.started_at} has no readable plan: run.plan_yaml"
        try:
            plan = parse(self.plan_yaml)
        except YAMLError as error:
            raise PlanError(f"{what}: {one_line(str(error))}") from error
        if not isinstance(plan, Mapping) or not isinstance(plan.get("published", []), list):
            raise PlanError(f"{what}: expected a mapping, whose `published` is a list")
        return plan
