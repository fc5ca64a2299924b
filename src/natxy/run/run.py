# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan: every experiment, every repetition, each trial stored before the next one starts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from natxy import __version__
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
from natxy.plan.testbeds.loop import LoopConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.replay import AttemptCutShort, Replay
from natxy.procedures.registry import procedure_of
from natxy.results.pcap import FOREIGN_FILE, PcapWriter
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState, State
from natxy.results.selftest import stored
from natxy.results.statistics import Headline, Summary, summarize_headlines
from natxy.results.store import RESULTS_FILE, RunStore
from natxy.results.tester import which_tester
from natxy.run.events import RunListener
from natxy.run.folder_lock import sole_owner
from natxy.run.recorder import TrialKeeper
from natxy.run.remarks import sum_up
from natxy.run.setup import Bed, Workbench
from natxy.search.outcome import NeverPrepared, TesterLimitReached
from natxy.system.machine import describe_machine

PLAN_FILE: Final = "plan.yaml"
ENGINE_LOG: Final = "engine.log"

# What a resumed run leaves as it is.
_ENDED: Final = {State.DONE, State.TESTER_LIMIT}
# Some of the repetitions of one without a result may have one.
_MEASURED: Final = {*_ENDED, State.NO_RESULT}


def run_plan(plan: ResolvedPlan, folder: Path, listener: RunListener) -> int:
    """Measures everything and returns the exit code: 0, or the first of these that an experiment ended with: 5 when
    the engine died, 2 when its gateway's table doesn't fit the plan, 4 when a DUT could not be reached, set up or
    reset, 3 when the tester was too slow for a result or a host in its place failed, 4 when a repetition ended without
    a result, or when it was skipped for want of another's result.

    `folder` is made where it isn't there; PlanError when it isn't empty or cannot be written. Other errors, and
    Ctrl-C, end the run with an exception: what was measured until then is kept. A run that measured nothing takes back
    what it made, unless that tells why the engine failed.
    """
    made = _make(folder)
    with sole_owner(folder):
        listener.run_started(folder)
        run = None
        try:
            run = _Run(plan, folder, listener)
            return run.carry_out()
        except BaseException as error:
            engine_failed = (folder / ENGINE_LOG).exists() and not isinstance(error, KeyboardInterrupt)
            measured = run is not None and run.measured
            if not measured and not engine_failed:
                _take_back(folder, made)
                if isinstance(error, sqlite3.OperationalError):
                    raise PlanError(
                        f"the results could not be written into {folder}: {error}; make room, then try again"
                    ) from error
            raise


def resume_plan(plan: ResolvedPlan, folder: Path, listener: RunListener) -> int:
    """Goes on with the run in `folder`, whose own `plan` is given; returns what `run_plan` does.

    Experiments that ended with a result or at the tester's limit stay as they are, and so do repetitions and trials;
    what failed, was skipped or cut short is carried on, and repetitions without a result start over. PlanError when
    there is nothing to resume.
    """
    with sole_owner(folder):
        before = RunReader(folder).run
        if before.natxy_version != __version__:
            raise PlanError(f"{folder} was measured by natxy {before.natxy_version}, this is {__version__}")
        if plan.to_yaml() != before.plan_yaml:
            raise PlanError(f"{folder / PLAN_FILE} is no longer the plan of the run; start a new run instead")
        ended = all(experiment.state in _ENDED for experiment in before.experiments)
        if ended and before.state == RunState.DONE:
            raise PlanError(f"{folder} is complete; there is nothing to resume")
        return _Run(plan, folder, listener, before).carry_out()


def _make(folder: Path) -> list[Path]:
    """Returns the folders that were not there, the innermost first."""
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PlanError(f"{folder} is there already; give another --output, so that no result is overwritten")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror
        raise PlanError(f"the results folder {folder} cannot be made: {reason}; give another --output") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PlanError(f"the results folder {folder} cannot be written; give another --output")
    return made


def _take_back(folder: Path, made: Sequence[Path]) -> None:
    """`made`: folders, the innermost first."""
    for file in folder.iterdir():
        file.unlink()
    # Another run may have come to use an outer one.
    with suppress(OSError):
        for path in made:
            path.rmdir()


class _Run:
    """`before`: what was measured until the run was cut short."""

    def __init__(
        self, plan: ResolvedPlan, folder: Path, listener: RunListener, before: RunRecord | None = None
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._listener = listener
        self._store = RunStore(folder / RESULTS_FILE, resume=before is not None)
        self._before = {experiment.name: experiment for experiment in before.experiments} if before else {}
        self._foreign = PcapWriter(folder / FOREIGN_FILE)
        self._medians: dict[str, float] = {}
        self._states: dict[str, State] = {}
        self._last_engine_died = False
        self._any_engine_died = False
        self._unfit = False
        self.measured = before is not None

    def carry_out(self) -> int:
        final = RunState.FAILED
        try:
            ids = self._record_plan()
            with Workbench(self._plan, self._folder / ENGINE_LOG) as workbench:
                for experiment in self._plan.experiments:
                    self._experiment(workbench, experiment, ids[experiment.name])
            final = RunState.DONE
        except KeyboardInterrupt:
            final = RunState.INTERRUPTED
            raise
        finally:
            self._store.finish_run(final)
            self._store.close()
            self._foreign.close()
        return self._exit_code()

    def _is_relied_on(self, experiment: ExperimentRecord) -> bool:
        """Its median, of the repetitions that have a result, is what others were measured with: it must not change."""
        if experiment.state != State.NO_RESULT or experiment.statistics is None:
            return False
        return any(
            rate.experiment == experiment.name and self._before[other.name].repetitions
            for other in self._plan.experiments
            for rate in other.known_rates.values()
        )

    def _exit_code(self) -> int:
        if self._any_engine_died:
            return EngineDiedError.exit_code
        if self._unfit:
            return PlanError.exit_code
        worst_first = (
            (State.FAILED, DutError.exit_code),
            # What disturbs the tester of a lab disturbs its gateway as well.
            (State.TESTER_LIMIT, TesterLimitError.exit_code),
            (State.HOST_FAILED, HostError.exit_code),
            (State.NO_RESULT, DutError.exit_code),
            (State.SKIPPED, DutError.exit_code),
        )
        return next((code for state, code in worst_first if state in self._states.values()), 0)

    def _record_plan(self) -> dict[str, int]:
        if self._before:
            self._store.resume_run()
            return {name: experiment.id for name, experiment in self._before.items()}
        text = self._plan.to_yaml()
        (self._folder / PLAN_FILE).write_text(text, encoding="utf-8")
        with self._store.all_or_nothing():
            self._store.start_run(
                name=self._plan.name,
                plan_yaml=text,
                seed=self._plan.seed,
                natxy_version=__version__,
                machine=describe_machine(),
            )
            self._record_self_test()
            return {experiment.name: self._record_experiment(experiment) for experiment in self._plan.experiments}

    def _record_self_test(self) -> None:
        tester = which_tester(self._plan.testbed)
        # Over a loop nothing but the tester is measured.
        if tester and not isinstance(self._plan.testbed, LoopConfig):
            self._store.set_self_test(tester, stored(tester))

    def _record_experiment(self, experiment: Experiment) -> int:
        settings = experiment.model_dump(mode="json", exclude_none=True)
        return self._store.add_experiment(
            name=experiment.name,
            title=experiment.title,
            gateway=experiment.gateway.driver,
            procedure=experiment.procedure.name,
            family=experiment.family,
            sweep=experiment.sweep,
            cell=experiment.cell,
            settings=settings,
            unit=experiment.unit,
            baseline=experiment.baseline,
        )

    # --- one experiment

    def _experiment(self, workbench: Workbench, experiment: Experiment, experiment_id: int) -> None:
        """TesterLimitError, HostError, DutError and an engine that dies end the experiment, everything else the run; so
        does a second engine in a row."""
        self._listener.experiment_started(experiment)
        before = self._before.get(experiment.name)
        if before and (before.state in _ENDED or self._is_relied_on(before)):
            self._ended(experiment, before.state, before.reason, before.statistics)
            return
        self._store.set_experiment_state(experiment_id, State.RUNNING)
        headlines: list[Headline] = []
        state, reason = State.FAILED, "an error in natxy"
        try:
            state, reason = self._measure(workbench, experiment, experiment_id, headlines)
        except TesterLimitError as error:
            state, reason = State.TESTER_LIMIT, str(error)
        except HostError as error:
            state, reason = State.HOST_FAILED, str(error)
            workbench.discard()
        except GatewayMissingError as error:
            state, reason = State.SKIPPED, str(error)
        except DutError as error:
            state, reason = State.FAILED, str(error)
            workbench.discard()
        except EngineDiedError as error:
            state, reason = State.FAILED, str(error)
            # One that cannot even be started will not be for the others either.
            if self._last_engine_died or not self.measured:
                raise
            self._any_engine_died = self._last_engine_died = True
            workbench.discard()
        except KeyboardInterrupt:
            state, reason = State.INTERRUPTED, "interrupted"
            raise
        except NatxyError as error:
            reason = str(error)
            raise
        finally:
            self._store.set_experiment_state(experiment_id, state, reason)
        self._ended(
            experiment,
            state,
            reason,
            summarize_headlines(headlines),
        )

    def _ended(self, experiment: Experiment, state: State, reason: str, summary: Summary | None) -> None:
        self._states[experiment.name] = state
        if state in _MEASURED:
            self._last_engine_died = False
        # A failed experiment's median may yet change when the run is resumed.
        if summary and state in _MEASURED:
            self._medians[experiment.name] = summary.median
        self._listener.experiment_finished(experiment, state, reason, summary)

    def _measure(
        self, workbench: Workbench, experiment: Experiment, experiment_id: int, headlines: list[Headline]
    ) -> tuple[State, str]:
        if missing := self._missing_result(experiment):
            return State.SKIPPED, missing
        try:
            bed = workbench.bed_for(experiment)
        except PlanError as error:
            # Before anything is measured the plan had better be mended; after that, others may well be measured.
            if not self.measured:
                raise
            self._unfit = True
            return State.FAILED, str(error)
        self._describe(bed, experiment, experiment_id)
        phase1_fps = self._rates(experiment).get("phase1_rate")
        try:
            if experiment.connections is not None:
                longest_s = experiment.longest_trial_s(phase1_fps)
                need = TableNeed(
                    experiment.connections, experiment.left_endpoints, experiment.right_endpoints, longest_s
                )
                with bed.gateway() as gateway:
                    gateway.check(need)
        except PlanError as error:
            # What others need of their gateways may well be there.
            self._unfit = True
            return State.FAILED, str(error)
        remarks = self._repetitions(bed, experiment, experiment_id, headlines)
        return State.DONE if len(headlines) == len(remarks) else State.NO_RESULT, sum_up(remarks)

    def _missing_result(self, experiment: Experiment) -> str:
        for field, rate in experiment.known_rates.items():
            if rate.given_by(self._medians) is None:
                limited = self._states.get(rate.experiment or "") == State.TESTER_LIMIT
                why = ": the tester's limit was reached" if limited else ""
                return f"its {field} is a share of {rate.experiment!r}, which has no result{why}"
        return ""

    def _rates(self, experiment: Experiment) -> dict[str, float | None]:
        return {field: rate.given_by(self._medians) for field, rate in experiment.known_rates.items()}

    def _repetitions(
        self, bed: Bed, experiment: Experiment, experiment_id: int, headlines: list[Headline]
    ) -> dict[int, str]:
        """Returns their remarks, by their numbers."""
        rates = self._rates(experiment)
        before = self._before.get(experiment.name)
        recorded = {repetition.number: repetition for repetition in before.repetitions} if before else {}
        remarks = {}
        for number in range(1, experiment.repeat + 1):
            self._listener.repetition_started(number)
            observer = TrialKeeper(self._store, self._foreign, self._listener)
            repetition = Repetition(
                experiment=experiment,
                tester=bed.tester,
                gateway=bed.gateway,
                observer=observer,
                sleep=bed.sleep,
                plan_seed=self._plan.seed,
                number=number,
                phase1_fps=rates.get("phase1_rate"),
                rate=rates.get("rate"),
            )
            result = self._repetition(repetition, experiment_id, observer, recorded.get(number))
            headline = result.figures[experiment.procedure.headline().name]
            if headline is not None:
                headlines.append(Headline(headline, result.lower_bound, result.upper_bound))
            remarks[number] = result.remark
            self._listener.repetition_finished(number, result)
        return remarks

    def _describe(self, bed: Bed, experiment: Experiment, experiment_id: int) -> None:
        with bed.gateway() as gateway:
            dut = gateway.describe()
        self._store.set_dut(experiment_id, asdict(replace(dut, settings=bed.dut_description | dut.settings)))
        self._store.describe_tester(
            engine=bed.engine_info,
            testbed=bed.description,
            deviations=[*bed.deviations, *self._plan.deviations],
        )

    # --- one repetition

    def _repetition(
        self, repetition: Repetition, experiment_id: int, observer: TrialKeeper, recorded: RepetitionRecord | None
    ) -> ProcedureResult:
        if recorded and recorded.state == State.DONE:
            return _result_of(recorded)
        if recorded:
            repetition_id = recorded.id
            self._store.resume_repetition(repetition_id)
        else:
            repetition_id = self._store.start_repetition(experiment_id, repetition.number)
        observer.repetition_id = repetition_id
        self.measured = True
        try:
            try:
                result = self._carry_on(repetition, repetition_id, recorded)
                observer.check_forwarding(result)
            except NeverPrepared as never:
                result = observer.without_connections(never, repetition.experiment)
        except TesterLimitReached as limit:
            reason = observer.limit_reason(limit)
            self._store.finish_repetition(
                repetition_id,
                State.TESTER_LIMIT,
                lower_bound=limit.lower_bound,
                upper_bound=limit.upper_bound,
                reason=reason,
            )
            raise TesterLimitError(reason) from limit
        except KeyboardInterrupt:
            self._store.finish_repetition(repetition_id, State.INTERRUPTED, reason="interrupted")
            raise
        except HostError as error:
            self._store.finish_repetition(repetition_id, State.HOST_FAILED, reason=str(error))
            raise
        except Exception as error:
            self._store.finish_repetition(repetition_id, State.FAILED, reason=str(error))
            raise
        headline = result.figures[repetition.experiment.procedure.headline().name]
        self._store.finish_repetition(
            repetition_id,
            State.NO_RESULT if headline is None else State.DONE,
            value=headline,
            figures=result.figures,
            curves=result.curves,
            lower_bound=result.lower_bound,
            upper_bound=result.upper_bound,
            reason=result.remark,
        )
        return result

    def _carry_on(
        self, repetition: Repetition, repetition_id: int, recorded: RepetitionRecord | None
    ) -> ProcedureResult:
        procedure = procedure_of(repetition.experiment)
        usable = [*recorded.trials] if recorded else []
        if recorded and usable and (_starts_over(recorded) or not procedure.replayable):
            self._store.drop_trials(repetition_id, usable[0].id)
            usable = []
        while True:
            replay = Replay(usable)
            try:
                return procedure.measure(replace(repetition, replay=replay, sleep=replay.waits(repetition.sleep)))
            except AttemptCutShort as cut:
                self._store.drop_trials(repetition_id, cut.first_id)
                usable = [trial for trial in usable if trial.id < cut.first_id]


def _starts_over(recorded: RepetitionRecord) -> bool:
    """None of its trials is of use: they lead to no result, or nothing came through any more, since when can't be
    told."""
    if recorded.state == State.NO_RESULT:
        return True
    last = recorded.steps[-1].trials
    return recorded.state == State.FAILED and not any(trial.received for trial in last)


def _result_of(recorded: RepetitionRecord) -> ProcedureResult:
    return ProcedureResult(
        figures=recorded.figures,
        lower_bound=recorded.lower_bound,
        upper_bound=recorded.upper_bound,
        remark=recorded.reason,
        curves=recorded.curves,
    )
