# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan: every experiment, every repetition, each trial stored before the next one starts."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Final

from natxy import __version__
from natxy.dut.base import TableNeed
from natxy.engine.interface import OnProgress
from natxy.errors import DutError, NatxyError
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.procedures.base import ProcedureResult
from natxy.procedures.bench import Bench, FinishedTrial
from natxy.procedures.listener import RunListener
from natxy.procedures.registry import procedure_of
from natxy.procedures.workbench import Bed, Workbench
from natxy.results.machine import describe_machine
from natxy.results.pcap import FOREIGN_FILE, PcapWriter
from natxy.results.records import RunState, State, TrialKind
from natxy.results.statistics import summarize
from natxy.results.store import RESULTS_FILE, RunStore
from natxy.search.outcome import Attempt, TesterLimitReached

PLAN_FILE: Final = "plan.yaml"
ENGINE_LOG: Final = "engine.log"

# What of an experiment a reader tells it apart by.
_CELL: Final = {"frame_size", "directions", "connections"}


def run_plan(plan: ResolvedPlan, folder: Path, listener: RunListener) -> int:
    """Measures everything and returns the exit code: 0, 3 when the tester was too slow for a result, 4 when a DUT
    could not be reached, set up or reset.

    `folder` is made where it isn't there; it has to be empty. Other errors, and Ctrl-C, end the run with an exception:
    what was measured until then is kept, and a run that measured nothing leaves no folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run = _Run(plan, folder, listener)
    try:
        return run.carry_out()
    except BaseException:
        if not run.measured:
            shutil.rmtree(folder)
        raise


class _Run:
    def __init__(self, plan: ResolvedPlan, folder: Path, listener: RunListener) -> None:
        self._plan = plan
        self._folder = folder
        self._listener = listener
        self._store = RunStore(folder / RESULTS_FILE)
        self._foreign = PcapWriter(folder / FOREIGN_FILE)
        self._medians: dict[str, float] = {}
        self._states: list[State] = []
        self._tester_described = False
        self.measured = False

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
        if State.FAILED in self._states:
            return DutError.exit_code
        return TesterLimitReached.exit_code if State.TESTER_LIMIT in self._states else 0

    def _record_plan(self) -> dict[str, int]:
        text = self._plan.to_yaml()
        (self._folder / PLAN_FILE).write_text(text, encoding="utf-8")
        self._store.start_run(
            name=self._plan.name,
            plan_yaml=text,
            seed=self._plan.seed,
            natxy_version=__version__,
            machine=describe_machine(),
        )
        return {experiment.name: self._record_experiment(experiment) for experiment in self._plan.experiments}

    def _record_experiment(self, experiment: Experiment) -> int:
        settings = experiment.model_dump(mode="json", exclude_none=True)
        cell = {name: settings[name] for name in sorted(_CELL) if name in settings}
        return self._store.add_experiment(
            name=experiment.name,
            title=experiment.title,
            gateway=experiment.gateway.driver,
            procedure=experiment.procedure.name,
            family=experiment.family,
            cell=cell | {"addresses": experiment.addresses.preset},
            settings=settings,
            unit=experiment.unit,
            baseline=experiment.baseline,
        )

    # --- one experiment

    def _experiment(self, workbench: Workbench, experiment: Experiment, experiment_id: int) -> None:
        """TesterLimitReached and DutError end the experiment, everything else the run."""
        self._listener.experiment_started(experiment)
        self._store.set_experiment_state(experiment_id, State.RUNNING)
        values: list[float] = []
        state, reason = State.FAILED, "an error in natxy"
        try:
            missing = self._missing_result(experiment)
            if not missing:
                self._repetitions(workbench.bed_for(experiment), experiment, experiment_id, values)
            state, reason = (State.SKIPPED, missing) if missing else (State.DONE, "")
        except TesterLimitReached as error:
            state, reason = State.TESTER_LIMIT, str(error)
        except DutError as error:
            state, reason = State.FAILED, str(error)
            workbench.discard()
        except KeyboardInterrupt:
            state, reason = State.INTERRUPTED, "interrupted"
            raise
        except NatxyError as error:
            reason = str(error)
            raise
        finally:
            self._store.set_experiment_state(experiment_id, state, reason)
            self._states.append(state)
        summary = summarize(values)
        if summary:
            self._medians[experiment.name] = summary.median
        self._listener.experiment_finished(experiment, state, reason, summary)

    def _missing_result(self, experiment: Experiment) -> str:
        for field, rate in experiment.known_rates.items():
            if rate.given_by(self._medians) is None:
                return f"its {field} is a share of {rate.experiment!r}, which has no result"
        return ""

    def _repetitions(self, bed: Bed, experiment: Experiment, experiment_id: int, values: list[float]) -> None:
        self._describe(bed, experiment_id)
        rates = {field: rate.given_by(self._medians) for field, rate in experiment.known_rates.items()}
        phase1_fps = rates.get("phase1_rate")
        if experiment.connections is not None:
            bed.gateway.check(TableNeed(experiment.connections, experiment.longest_trial_s(phase1_fps)))
        for number in range(1, experiment.repeat + 1):
            self._listener.repetition_started(number)
            observer = _Observer(self._store, self._foreign, self._listener)
            bench = Bench(
                experiment=experiment,
                engine=bed.engine,
                gateway=bed.gateway,
                observer=observer,
                sleep=bed.sleep,
                plan_seed=self._plan.seed,
                repetition=number,
                phase1_fps=phase1_fps,
                rate=rates.get("rate"),
            )
            result = self._repetition(bench, experiment_id, observer)
            headline = result.figures[experiment.procedure.headline().name]
            if headline is not None:
                values.append(headline)
            self._listener.repetition_finished(number, result)

    def _describe(self, bed: Bed, experiment_id: int) -> None:
        self._store.set_dut(experiment_id, asdict(bed.gateway.describe()))
        if not self._tester_described:
            self._store.describe_tester(
                engine=bed.engine.info().model_dump(mode="json"),
                testbed=bed.description,
                deviations=[*bed.deviations, *self._plan.deviations],
            )
            self._tester_described = True

    # --- one repetition

    def _repetition(self, bench: Bench, experiment_id: int, observer: _Observer) -> ProcedureResult:
        repetition_id = observer.repetition_id = self._store.start_repetition(experiment_id, bench.repetition)
        self.measured = True
        try:
            result = procedure_of(bench.experiment).measure(bench)
        except TesterLimitReached as limit:
            self._store.finish_repetition(
                repetition_id,
                State.TESTER_LIMIT,
                lower_bound=limit.lower_bound,
                upper_bound=limit.upper_bound,
                reason=str(limit),
            )
            raise
        except KeyboardInterrupt:
            self._store.finish_repetition(repetition_id, State.INTERRUPTED, reason="interrupted")
            raise
        except Exception as error:
            self._store.finish_repetition(repetition_id, State.FAILED, reason=str(error))
            raise
        self._store.finish_repetition(
            repetition_id,
            State.DONE,
            value=result.figures[bench.experiment.procedure.headline().name],
            figures=result.figures,
            curves=result.curves,
            lower_bound=result.lower_bound,
            upper_bound=result.upper_bound,
            reason=result.remark,
        )
        return result


class _Observer:
    """Stores each trial of a repetition, then tells the listener."""

    def __init__(self, store: RunStore, foreign: PcapWriter, listener: RunListener) -> None:
        self._store = store
        self._foreign = foreign
        self._listener = listener
        self.repetition_id = 0

    def attempt_started(self, attempt: Attempt) -> None:
        self._listener.attempt_started(attempt)

    def progress(self, kind: TrialKind) -> OnProgress:
        return lambda progress: self._listener.progress(kind, progress)

    def finished(self, trial: FinishedTrial) -> None:
        self._store.add_trial(
            self.repetition_id,
            number=trial.attempt.number,
            attempt=trial.attempt.retry,
            kind=trial.kind,
            purpose=trial.purpose,
            step_rate=trial.attempt.rate,
            rate_fps=trial.rate_fps,
            started_at=trial.started_at,
            result=trial.result,
        )
        self._foreign.add(trial.result.samples)
        self._listener.trial_finished(trial)
