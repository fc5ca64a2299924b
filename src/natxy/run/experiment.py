# SPDX-License-Identifier: Apache-2.0
"""Measures one experiment: its testbed, gateway and tester are set up, then it is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from natxy.dut.base import TableNeed
from natxy.errors import (
    DutError,
    EngineDiedError,
    GatewayMissingError,
    HostError,
    NatxyError,
    PlanError,
    TesterLimitError,
)
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.deviations import deviations
from natxy.results.pcap import PcapWriter
from natxy.results.records import RepetitionRecord, State
from natxy.results.statistics import Headline, summarize_headlines
from natxy.results.store import RunStore
from natxy.run.events import RunListener
from natxy.run.outcomes import Outcomes
from natxy.run.recorder import TrialRecorder
from natxy.run.repetition import measure_repetition, recorded_result
from natxy.run.setup import Setup, Setups


@dataclass
class ExperimentRun:
    """Holds what one experiment needs of its run.

    `recorded`: repetitions that earlier sessions of the run began, by number.
    """

    plan: ResolvedPlan
    experiment: Experiment
    experiment_id: int
    recorded: Mapping[int, RepetitionRecord]
    setups: Setups
    outcomes: Outcomes
    store: RunStore
    foreign: PcapWriter
    listener: RunListener

    def carry_out(self) -> None:
        """Measures the experiment and stores how it ended.

        TesterLimitError, HostError, DutError and an engine that dies end only the experiment. Every other error ends
        the run, and so does an engine that dies in two experiments in a row.
        """
        self.store.set_experiment_state(self.experiment_id, State.RUNNING)
        headlines: list[Headline] = []
        state, reason = State.FAILED, "an error in natxy"
        try:
            state, reason = self._measure(headlines)
        except TesterLimitError as error:
            state, reason = State.TESTER_LIMIT, str(error)
        except GatewayMissingError as error:
            state, reason = State.SKIPPED, str(error)
        except (HostError, DutError, EngineDiedError) as error:
            state, reason = State.HOST_FAILED if isinstance(error, HostError) else State.FAILED, str(error)
            if isinstance(error, EngineDiedError) and not self.outcomes.add_dead_engine():
                raise
            self.setups.discard()
        except KeyboardInterrupt:
            state, reason = State.INTERRUPTED, "interrupted"
            raise
        except NatxyError as error:
            reason = str(error)
            raise
        finally:
            self.store.set_experiment_state(self.experiment_id, state, reason)
        summary = summarize_headlines(headlines)
        self.outcomes.add(self.experiment, state, summary)
        self.listener.experiment_finished(self.experiment, state, reason, summary)

    def _measure(self, headlines: list[Headline]) -> tuple[State, str]:
        """Adds the headline of each repetition to `headlines`, so that they are known also after an error."""
        if missing := self.outcomes.missing_result(self.experiment):
            return State.SKIPPED, missing
        try:
            setup = self.setups.provide(self.experiment)
        except PlanError as error:
            # Before anything is measured it is better to correct the plan; later the other experiments may work.
            if not self.outcomes.measured:
                raise
            self.outcomes.add_unfit_plan()
            return State.FAILED, str(error)
        self._describe(setup)
        rates = self.outcomes.rates(self.experiment)
        try:
            self._check_table(setup, rates.get("phase1_rate"))
        except PlanError as error:
            # The gateways of other experiments may fit.
            self.outcomes.add_unfit_plan()
            return State.FAILED, str(error)
        remarks = {}
        for number in range(1, self.experiment.repeat + 1):
            self.listener.repetition_started(number)
            result = self._repetition(setup, number, rates)
            headline = result.figures[self.experiment.procedure.headline().name]
            if headline is not None:
                headlines.append(Headline(headline, result.lower_bound, result.upper_bound))
            remarks[number] = result.remark
            self.listener.repetition_finished(number, result)
        return State.DONE if len(headlines) == len(remarks) else State.NO_RESULT, _joined(remarks)

    def _describe(self, setup: Setup) -> None:
        with setup.gateway() as gateway:
            dut = gateway.describe()
        self.store.set_dut(self.experiment_id, asdict(replace(dut, settings=setup.dut_description | dut.settings)))
        self.store.describe_tester(
            engine=setup.engine_info,
            testbed=setup.description,
            deviations=[*setup.deviations, *deviations(self.plan)],
        )

    def _check_table(self, setup: Setup, phase1_fps: float | None) -> None:
        """Raises PlanError when the gateway's table does not fit the experiment's connections."""
        experiment = self.experiment
        if experiment.connections is None:
            return
        longest_s = experiment.longest_trial_s(phase1_fps)
        need = TableNeed(experiment.connections, experiment.left_endpoints, experiment.right_endpoints, longest_s)
        with setup.gateway() as gateway:
            gateway.check(need)

    def _repetition(self, setup: Setup, number: int, rates: Mapping[str, float | None]) -> ProcedureResult:
        recorded = self.recorded.get(number)
        if recorded and recorded.state == State.DONE:
            return recorded_result(recorded)
        if recorded:
            self.store.resume_repetition(recorded.id)
        repetition_id = recorded.id if recorded else self.store.start_repetition(self.experiment_id, number)
        self.outcomes.measured = True
        recorder = TrialRecorder(repetition_id, self.store, self.foreign, self.listener)
        repetition = Repetition(
            experiment=self.experiment,
            tester=setup.tester,
            gateway=setup.gateway,
            watch=setup.watch,
            observer=recorder,
            sleep=setup.sleep,
            plan_seed=self.plan.seed,
            number=number,
            phase1_fps=rates.get("phase1_rate"),
            rate=rates.get("rate"),
        )
        return measure_repetition(repetition, recorder, recorded)


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
