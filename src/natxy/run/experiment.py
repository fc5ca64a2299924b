# SPDX-License-Identifier: Apache-2.0
"""Measures one experiment of a run, and decides how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import Final

from natxy.errors import (
    DutError,
    EngineDiedError,
    GatewayMissingError,
    HostError,
    NatxyError,
    PlanError,
    TesterLimitError,
)
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.figures import CORE_SPEED
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.scale import table_need
from natxy.procedures.common.base import ProcedureResult, no_result
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.table_check import TableCheck
from natxy.results.analysis.ceilings import ceiling_fps
from natxy.results.pcap import PcapWriter
from natxy.results.records import ExperimentRecord, RepetitionRecord, State
from natxy.results.selftest import SelfTest
from natxy.results.statistics import Headline
from natxy.results.store import RunStore
from natxy.run.outcomes import Missing, Outcomes
from natxy.run.recorder import TrialRecorder
from natxy.run.repetition import measure_repetition, recorded_result
from natxy.run.setup import Setup, Setups
from natxy.run.telling import experiment_finished, repetition_finished


class _DoesNotFit(Exception):
    """Reports that the gateway cannot do what the experiment asks of it."""


# These end only the experiment; others, such as a full disk, end the run.
_OF_THE_EXPERIMENT: Final = (HostError, DutError, EngineDiedError, _DoesNotFit)
# A tester that falls behind once was disturbed, as machines are; so many times in a row, it is too slow.
_LIMITED_IN_A_ROW: Final = 2


@dataclass
class ExperimentRun:
    """Measures one experiment, a repetition at a time.

    `recorded`: repetitions that earlier sessions of the run began, by number; those in a state of `finished` are not
    measured again. `self_test`: that of the tester, as the run has stored it. `state` is None until the experiment has
    ended. `headlines` has the results of the repetitions that have one, by number.
    """

    plan: ResolvedPlan
    experiment: Experiment
    experiment_id: int
    recorded: Mapping[int, RepetitionRecord]
    finished: Set[State]
    setups: Setups
    outcomes: Outcomes
    store: RunStore
    foreign: PcapWriter
    listener: RunListener
    self_test: SelfTest | None = None
    state: State | None = field(default=None, init=False)
    headlines: dict[int, Headline] = field(default_factory=dict, init=False)
    _states: dict[int, State] = field(default_factory=dict, init=False)
    _remarks: dict[int, str] = field(default_factory=dict, init=False)
    _running: bool = field(default=False, init=False)
    _table_check: TableCheck = field(default_factory=TableCheck, init=False)
    _described: bool = field(default=False, init=False)

    def keep(self, record: ExperimentRecord) -> None:
        """Leaves the experiment as an earlier session ended it."""
        for repetition in record.repetitions:
            if repetition.measured:
                self._add(repetition.number, repetition.state, recorded_result(self.experiment.procedure, repetition))
        self._report_end(record.state, record.reason)

    def repeat(self, number: int) -> None:
        """Measures repetition `number` of an experiment that has not ended, or takes the recorded one.

        A TesterLimitError ends the repetition; two in a row end the experiment. A HostError, a DutError and an engine
        that dies end the experiment. Every other error ends the run, and so does an engine that dies in two experiments
        in a row.
        """
        recorded = self.recorded.get(number)
        if recorded and recorded.state in self.finished:
            self._add(number, recorded.state, recorded_result(self.experiment.procedure, recorded))
            self._end_if_too_slow()
            return
        self.listener.receive(RepetitionStarted(experiment=self.experiment.name, repetition=number))
        if not self._running:
            self._running = True
            self.store.set_experiment_state(self.experiment_id, State.RUNNING)
        try:
            if missing := self.outcomes.missing_result(self.experiment, number):
                self._skip(number, missing)
            else:
                self._measure(number)
        except TesterLimitError as error:
            self._add(number, State.TESTER_LIMIT, no_result(self.experiment.procedure, str(error)))
            self._end_if_too_slow()
        except BaseException as error:
            state, reason = _ending(error)
            goes_on = isinstance(error, _OF_THE_EXPERIMENT)
            if isinstance(error, EngineDiedError):
                goes_on = self.outcomes.add_dead_engine()
            if not goes_on:
                self._store_end(state, reason)
                raise
            if isinstance(error, HostError | DutError | EngineDiedError):
                self.setups.discard(f"{self.experiment.name} ended with an error")
            self._end(state, reason)

    def finish(self) -> None:
        """Ends the experiment after its last repetition, unless it has ended already."""
        if self.state is not None:
            return
        states = set(self._states.values())
        state = next(iter(states)) if len(states) == 1 else State.NO_RESULT
        if State.TESTER_LIMIT in states:
            state = State.TESTER_LIMIT
        self._end(state, _joined(self._remarks))

    def interrupt(self) -> None:
        """Records that the run ended before the experiment did."""
        if self._running and self.state is None:
            self._store_end(State.INTERRUPTED, "the run ended before its last repetition")

    def _end_if_too_slow(self) -> None:
        """Ends the experiment if its last repetitions reached the tester's limit."""
        if [*self._states.values()][-_LIMITED_IN_A_ROW:] == [State.TESTER_LIMIT] * _LIMITED_IN_A_ROW:
            self.finish()

    def _end(self, state: State, reason: str) -> None:
        self._store_end(state, reason)
        self._report_end(state, reason)

    def _store_end(self, state: State, reason: str) -> None:
        self.state = state
        self.store.set_experiment_state(self.experiment_id, state, reason)

    def _report_end(self, state: State, reason: str) -> None:
        self.state = state
        self.outcomes.add_end(self.experiment, state)
        self.listener.receive(experiment_finished(self.experiment, state, reason, [*self.headlines.values()]))

    def _skip(self, number: int, missing: Missing) -> None:
        """Records a repetition that cannot be measured, and ends the experiment if no later one can be."""
        self._states[number], self._remarks[number] = State.SKIPPED, missing.reason
        self.store.finish_repetition(self._start(number), State.SKIPPED, reason=missing.reason)
        if missing.for_good:
            self._end(State.NO_RESULT if self.headlines else State.SKIPPED, missing.reason)

    def _measure(self, number: int) -> None:
        setup = self._set_up()
        rates = self.outcomes.rates(self.experiment, number)
        try:
            self._check_table(setup, rates.get("phase1_rate"))
        except PlanError as error:
            # The gateways of other experiments may fit.
            self.outcomes.add_unfit_plan()
            raise _DoesNotFit(str(error)) from error
        recorded = self.recorded.get(number)
        repetition_id = self._start(number)
        self.outcomes.measured = True
        recorder = TrialRecorder(self.experiment.name, number, repetition_id, self.store, self.foreign, self.listener)
        repetition = Repetition(
            experiment=self.experiment,
            tester=setup.tester,
            gateway=setup.gateway,
            watch=setup.watch,
            counting=setup.counting,
            observer=recorder,
            sleep=setup.sleep,
            learn=setup.learn,
            set_up_again=setup.set_up_again,
            plan_seed=self.plan.seed,
            number=number,
            phase1_fps=rates.get("phase1_rate"),
            rate=rates.get("rate"),
            ceiling_fps=ceiling_fps(self.experiment, self.self_test),
            table_check=self._table_check,
        )
        result = measure_repetition(repetition, recorder, recorded)
        headline = result.figures[self.experiment.procedure.headline().name]
        self._add(number, State.NO_RESULT if headline is None else State.DONE, result)

    def _start(self, number: int) -> int:
        """Begins a repetition, or reopens it, and returns its id."""
        recorded = self.recorded.get(number)
        if recorded is None:
            return self.store.start_repetition(self.experiment_id, number)
        self.store.resume_repetition(recorded.id)
        return recorded.id

    def _add(self, number: int, state: State, result: ProcedureResult) -> None:
        headline = result.figures[self.experiment.procedure.headline().name]
        if headline is not None:
            speed_hz = result.figures.get(CORE_SPEED.name)
            self.headlines[number] = Headline(headline, result.lower_bound, result.upper_bound, speed_hz)
        self._states[number], self._remarks[number] = state, result.remark
        self.outcomes.add_result(self.experiment, number, headline)
        self.listener.receive(repetition_finished(self.experiment, number, result))

    def _set_up(self) -> Setup:
        try:
            setup = self.setups.provide(self.experiment)
        except PlanError as error:
            # Before anything is measured it is better to correct the plan; later the other experiments may work.
            if not self.outcomes.measured:
                raise
            self.outcomes.add_unfit_plan()
            raise _DoesNotFit(str(error)) from error
        if not self._described:
            self._describe(setup)
            self._described = True
        return setup

    def _describe(self, setup: Setup) -> None:
        with setup.gateway() as gateway:
            found = [hop.describe() for hop in gateway.hops]
        described = [asdict(replace(dut, settings=setup.dut_description | dut.settings)) for dut in found]
        nothing: dict[str, str] = {}
        duts = zip_longest(described, setup.dut_hardware, fillvalue=nothing)
        self.store.set_duts(self.experiment_id, [dut | {"hardware": hardware} for dut, hardware in duts])
        self.store.describe_tester(
            engine=setup.engine_info,
            testbed=setup.description,
            caveats=setup.caveats,
        )

    def _check_table(self, setup: Setup, phase1_fps: float | None) -> None:
        """Raises PlanError when the gateway's table does not fit the experiment's connections."""
        # A search for a table's capacity checks each number of connections itself.
        need = table_need(self.experiment, phase1_fps) if self.experiment.connections else None
        if need:
            with setup.gateway() as gateway:
                gateway.check(need)


def _ending(error: BaseException) -> tuple[State, str]:
    """Returns the state and the reason of an experiment that an error ended."""
    if isinstance(error, KeyboardInterrupt):
        return State.INTERRUPTED, "interrupted"
    if not isinstance(error, NatxyError | _DoesNotFit):
        return State.FAILED, "an error in natxy"
    states = {GatewayMissingError: State.SKIPPED, HostError: State.HOST_FAILED}
    return next((state for kind, state in states.items() if isinstance(error, kind)), State.FAILED), str(error)


def _joined(remarks: Mapping[int, str]) -> str:
    """Joins the remarks of repetitions, keyed by number; equal ones are written once, empty ones not at all."""
    numbers_of: dict[str, list[str]] = {}
    for number, remark in remarks.items():
        numbers_of.setdefault(remark, []).append(str(number))
    if len(numbers_of) == 1:
        return next(iter(numbers_of))
    return "; ".join(
        f"repetition{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {remark}"
        for remark, numbers in numbers_of.items()
        if remark
    )
