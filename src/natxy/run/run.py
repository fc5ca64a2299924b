# SPDX-License-Identifier: Apache-2.0
"""Measures a plan into a folder, or resumes that; each trial is stored before the next one starts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from natxy import __version__
from natxy.dut.transport.local import run_program
from natxy.errors import PlanError
from natxy.events.lines import EVENTS_FILE
from natxy.events.listener import Listeners, RunListener
from natxy.events.run import RunFinished, Warned
from natxy.events.writer import events_into
from natxy.installation import full_version
from natxy.locks.session import LossesTold, reserved
from natxy.plan.model.repeat import RunOrder
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.parsing import parse
from natxy.results import RESULTS_FILE
from natxy.results.pcap import FOREIGN_FILE, PcapWriter
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord, RunState, State
from natxy.results.selftest import SelfTest, TesterIdentity, stored, which_tester
from natxy.results.store import RunStore
from natxy.run.caveats import caveats_of_run
from natxy.run.cores import most_cores
from natxy.run.experiment import ExperimentRun
from natxy.run.folder import ENGINE_LOG, PLAN_FILE, make_folder, remove_folder, sole_owner
from natxy.run.outcomes import Outcomes
from natxy.run.preflight import Preflight, prepared
from natxy.run.schedule import repeat_all
from natxy.run.setup import Setups
from natxy.run.telling import run_started
from natxy.system.machine import describe_machine
from natxy.system.whole_file import whole_file


def run_plan(
    plan: ResolvedPlan, folder: Path | str, listener: RunListener, before: Sequence[Sequence[str]] = ()
) -> int:
    """Measures everything and returns the exit code: 0, or the first of these that applies to an experiment:

    5: the engine died. 2: the gateway's table does not fit the plan. 4: a DUT could not be reached, set up or reset.
    3: the tester was too slow for a result, or one of two hosts that replace it failed. 4: a repetition ended without
    a result, or the experiment was skipped because another one has no result.

    `before`: commands that this machine runs when nobody else measures with the same; DutError when one fails.

    `folder` is made if it does not exist. Raises PlanError when it is not empty or cannot be written to, and PlanError
    or DutError when this machine cannot measure the plan at all; nothing is made then. Other errors
    and Ctrl-C end the run with an exception; what was measured before is kept. A run that measured nothing removes
    the files and folders it made, unless the engine failed: its log is needed.
    """
    folder = Path(folder)
    found = prepared(plan)
    made = make_folder(folder)
    with sole_owner(folder):
        outcomes = Outcomes(plan.order)
        try:
            return _told(plan, folder, listener, outcomes, found, commands=before)
        except BaseException as error:
            engine_failed = (folder / ENGINE_LOG).exists() and not isinstance(error, KeyboardInterrupt)
            if not outcomes.measured and not engine_failed:
                remove_folder(folder, made)
                if isinstance(error, sqlite3.OperationalError):
                    raise PlanError(
                        f"the results could not be written into {folder}: {error}; make room, then try again"
                    ) from error
            raise


def resume_plan(
    plan: ResolvedPlan, folder: Path | str, listener: RunListener, before: Sequence[Sequence[str]] = ()
) -> int:
    """Continues the run in `folder`, whose own plan is `plan`; returns the same exit codes as `run_plan`.

    Experiments with a result are left as they are, and so are finished repetitions and trials. Experiments that
    failed, were skipped or interrupted are continued, and repetitions without a result are measured again; those at
    the tester's limit only if the run was complete before. Raises PlanError when nothing is left to measure.
    """
    folder = Path(folder)
    with sole_owner(folder):
        earlier = RunReader(folder).run
        # Another commit of the same version may resume it.
        if earlier.natxy_version.partition("+")[0] != __version__:
            raise PlanError(f"{folder} was measured by natxy {earlier.natxy_version}, this is {full_version()}")
        # Another build of the same version may write the fields in another order, which ruamel's `!=` does not allow.
        is_the_plan = earlier.plan == parse(plan.to_yaml())
        if not is_the_plan or [each.name for each in earlier.experiments] != [each.name for each in plan.experiments]:
            raise PlanError(f"{folder / PLAN_FILE} is no longer the plan of the run; start a new run instead")
        ended = all(experiment.state == State.DONE for experiment in earlier.experiments)
        if ended and earlier.state == RunState.DONE:
            raise PlanError(f"{folder} is complete; there is nothing to resume")
        found = prepared(plan)
        return _told(plan, folder, listener, Outcomes(plan.order, measured=True), found, earlier, before)


def _told(
    plan: ResolvedPlan,
    folder: Path,
    listener: RunListener,
    outcomes: Outcomes,
    found: Preflight,
    before: RunRecord | None = None,
    commands: Sequence[Sequence[str]] = (),
) -> int:
    """Carries out the plan when nobody else measures with the same; events go into the folder, then to the listener.
    They begin with what was found to be lacking."""
    with (
        reserved(plan, most_cores(plan), listener) as losses,
        events_into(folder / EVENTS_FILE, lambda text: listener.receive(Warned(text=text))) as recorded,
    ):
        for command in commands:
            run_program(command, timeout_s=None)
        both = LossesTold(losses, Listeners(recorded, listener))
        both.receive(run_started(plan, folder, resumed=before is not None))
        for text in (*found.lines, *found.warnings):
            both.receive(Warned(text=text))
        try:
            code = _carry_out(plan, folder, both, outcomes, before)
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            state = RunState.INTERRUPTED if interrupted else RunState.FAILED
            both.receive(RunFinished(state=state, reason="interrupted" if interrupted else str(error)))
            raise
        both.receive(RunFinished(state=RunState.DONE, exit_code=code))
        return code


def _carry_out(
    plan: ResolvedPlan, folder: Path, listener: RunListener, outcomes: Outcomes, before: RunRecord | None = None
) -> int:
    """Measures the experiments of `plan`; `before` is the run as an earlier session left it."""
    store = RunStore(folder / RESULTS_FILE, resume=before is not None)
    foreign = PcapWriter(folder / FOREIGN_FILE)
    final = RunState.FAILED
    runs: dict[str, ExperimentRun] = {}
    complete = before is not None and before.state == RunState.DONE
    finished = {State.DONE} if complete else {State.DONE, State.TESTER_LIMIT}
    try:
        records = {experiment.name: experiment for experiment in before.experiments} if before else {}
        if before:
            store.resume_run()
            self_test = before.self_test
            ids = {name: record.id for name, record in records.items()}
        else:
            # Without a gateway it is the tester that is measured: its earlier self-test says nothing about this run.
            tester = which_tester(plan.testbed) if plan.testbed.has_gateway else None
            self_test = stored(tester) if tester else None
            ids = _start_recording(store, plan, folder, tester, self_test)
        with Setups(plan, folder / ENGINE_LOG, listener) as setups:
            for experiment in plan.experiments:
                record = records.get(experiment.name)
                runs[experiment.name] = ExperimentRun(
                    plan=plan,
                    experiment=experiment,
                    experiment_id=ids[experiment.name],
                    recorded={each.number: each for each in record.repetitions} if record else {},
                    finished=finished,
                    setups=setups,
                    outcomes=outcomes,
                    store=store,
                    foreign=foreign,
                    listener=listener,
                    self_test=self_test,
                )
                if record and (record.state in finished or _is_relied_on(record, plan, records)):
                    runs[experiment.name].keep(record)
            repeat_all(plan, runs, listener)
        final = RunState.DONE
    except KeyboardInterrupt:
        final = RunState.INTERRUPTED
        raise
    finally:
        for run in runs.values():
            run.interrupt()
        store.finish_run(final)
        store.close()
        foreign.close()
    return outcomes.exit_code()


def _is_relied_on(record: ExperimentRecord, plan: ResolvedPlan, records: dict[str, ExperimentRecord]) -> bool:
    """Returns True when other experiments were measured at rates from this one's median, which must not change then.

    Such an experiment has a median of those repetitions that have a result. In blocks, a rate comes from a single
    repetition, and where that has no result, nothing was measured at it.
    """
    incomplete = record.state in {State.NO_RESULT, State.TESTER_LIMIT}
    if plan.order == RunOrder.BLOCKS or not incomplete or record.statistics is None:
        return False
    return any(
        rate.experiment == record.name and records[other.name].repetitions
        for other in plan.experiments
        for rate in other.known_rates.values()
    )


def _start_recording(
    store: RunStore, plan: ResolvedPlan, folder: Path, tester: TesterIdentity | None, self_test: SelfTest | None
) -> dict[str, int]:
    """Writes the plan into the folder and the store; returns the ids of the experiments by name."""
    text = plan.to_yaml()
    with whole_file(folder / PLAN_FILE) as out:
        out.write(text.encode())
    with store.all_or_nothing():
        store.start_run(
            name=plan.name,
            plan_yaml=text,
            seed=plan.seed,
            natxy_version=full_version(),
            machine=describe_machine(),
            # Once a run: the build that resumes it may word them otherwise.
            caveats=caveats_of_run(plan),
        )
        if tester:
            store.set_self_test(tester, self_test)
        return {experiment.name: store.add_experiment(experiment) for experiment in plan.experiments}
