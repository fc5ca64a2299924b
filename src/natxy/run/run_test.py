# SPDX-License-Identifier: Apache-2.0
"""Whole plans in virtual time: the numbers must be the model's truth, within the search's error."""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy import __version__
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.messages.results import Progress
from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import TableNeed
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import FinishedTrial, Repetition
from natxy.procedures.connection_rate import ConnectionRate
from natxy.procedures.deviations import deviations
from natxy.report.words import states
from natxy.results.analysis.ceilings_test import FOUND, TESTER, ceiling
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState, State
from natxy.results.selftest import Variant
from natxy.results.trials import Purpose, TrialKind
from natxy.run.events import RunListener
from natxy.run.folder import ENGINE_LOG, PLAN_FILE
from natxy.run.run import resume_plan, run_plan
from natxy.run.setup import Setup, Setups

SEARCH = {"min_rate": "1k", "max_rate": "1M", "error": 500}
FORWARDING: dict[str, Any] = {"name": "forwarding", "procedure": "throughput"}
RATE: dict[str, Any] = {"name": "rate", "procedure": "connection-rate", "connections": "20k"}
VALIDATED = RATE | {"name": "validated", "procedure": "validated-connection-rate", "alpha": 0.5}
PHASE2: dict[str, Any] = {
    "name": "phase2",
    "procedure": "throughput",
    "connections": "20k",
    "phase1_rate": {"experiment": "rate", "percent": 50},
    "baseline": "forwarding",
}


def measure(
    folder: Path,
    *experiments: dict[str, Any],
    gateway: dict[str, Any] | None = None,
    testbed: dict[str, Any] | None = None,
    listener: RunListener | None = None,
    order: str = "blocks",
    repeat: int | dict[str, Any] = 2,
) -> tuple[int, RunRecord]:
    common = {"gateway": {"driver": "simulated"} | (gateway or {}), "search": SEARCH}
    plan = Plan.model_validate(
        {
            "name": "p",
            "repeat": repeat,
            "order": order,
            "timing": "lab",
            "testbed": {"kind": "simulated"} | (testbed or {}),
            "experiments": [common | experiment for experiment in experiments],
        }
    )
    code = run_plan(resolve(plan), folder, listener or RunListener())
    return code, RunReader(folder).run


def medians(run: RunRecord) -> dict[str, float]:
    return {e.name: e.statistics.median for e in run.experiments if e.statistics}


# Frames are whole: a trial of half a second, or of 20k connections, resolves rates no finer than this.
GRAIN = 2.1


@settings(max_examples=40, deadline=None)
@given(
    forwarding_fps=st.floats(min_value=50_000, max_value=1_500_000),
    connection_rate_fps=st.floats(min_value=5_000, max_value=900_000),
)
def test_every_procedure_finds_the_models_truth(forwarding_fps: float, connection_rate_fps: float) -> None:
    gateway = {"forwarding_fps": forwarding_fps, "connection_rate_fps": connection_rate_fps}
    with TemporaryDirectory() as folder:
        code, run = measure(Path(folder) / "run", FORWARDING, RATE, VALIDATED, PHASE2, gateway=gateway)
    found = medians(run)
    connections = min(connection_rate_fps, forwarding_fps)
    assert code == 0
    assert found["forwarding"] == pytest.approx(forwarding_fps / 2, abs=500 + GRAIN)
    assert found["rate"] == pytest.approx(connections, abs=500 + connections / 20_000)
    assert found["validated"] == found["rate"]
    assert found["phase2"] == found["forwarding"]
    assert run.experiments[3].baseline_ratio_percent == pytest.approx(100)


def test_each_direction_has_to_pass_on_its_own(tmp_path: Path) -> None:
    lossy = {"reverse_loss_ratio": 0.02}
    one_way = FORWARDING | {"name": "forward-only", "directions": "forward"}
    code, run = measure(tmp_path / "run", FORWARDING, one_way, gateway=lossy)
    assert code == 0
    assert medians(run) == {"forwarding": 0, "forward-only": pytest.approx(500_000, abs=510)}
    assert "no rate passed" in run.experiments[0].repetitions[0].reason


def test_a_table_too_small_shows_in_the_connection_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", RATE, gateway={"table_capacity": 19_999})
    assert medians(run) == {"rate": 0}


@pytest.mark.parametrize(("policy", "plain"), [("keep", 0), ("lru", 200_000), ("early-drop", 200_000)])
def test_only_validation_finds_a_table_that_replaces_connections(tmp_path: Path, policy: str, plain: float) -> None:
    gateway = {"table_capacity": 10_000, "table_policy": policy, "connection_rate_fps": 200_000}
    _, run = measure(tmp_path / "run", RATE, VALIDATED, gateway=gateway)
    assert medians(run) == {"rate": pytest.approx(plain, abs=510), "validated": 0}


def test_a_dut_beyond_the_search_is_at_least_its_highest_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, gateway={"forwarding_fps": 1e8})
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.upper_bound) == (1e6, None)
    assert "at least" in repetition.reason


def test_every_phase_2_trial_has_its_own_phase_1(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, RATE, PHASE2)
    rate = medians(run)["rate"]
    for step in run.experiments[2].repetitions[0].steps:
        phase1, traffic = step.trials
        assert (phase1.kind, phase1.purpose) == (TrialKind.PHASE1, Purpose.PREPARE)
        assert phase1.rate_fps == pytest.approx(rate / 2)
        assert (traffic.kind, traffic.purpose, traffic.rate_fps) == (TrialKind.TRAFFIC, Purpose.MEASURE, step.rate)


def test_validation_runs_at_alpha_times_the_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", VALIDATED)
    passed = [step for step in run.experiments[0].repetitions[0].steps if len(step.trials) == 2]
    assert passed
    assert all(step.trials[1].rate_fps == step.rate / 2 for step in passed)


def test_the_testers_limit_ends_an_experiment_but_not_the_run(tmp_path: Path) -> None:
    slow = FORWARDING | {"name": "slow", "search": {"min_rate": "1k", "max_rate": "50k", "error": 500}}
    halved = FORWARDING | {"search": {"kind": "binary", "min_rate": "200k", "max_rate": "1M", "error": 500}}
    code, run = measure(
        tmp_path / "run", halved, slow, gateway={"forwarding_fps": 60_000}, testbed={"tester_limit": "100k"}
    )
    assert code == 3
    assert run.state == RunState.DONE
    forwarding, bounded = run.experiments
    assert (forwarding.state, forwarding.values) == (State.TESTER_LIMIT, [])
    assert forwarding.reason == (
        "tester limit reached in traffic at 200 kfps per direction: 3 attempts, all invalid; "
        "the last: forward: the simulated tester sends at most 100000 fps"
    )
    assert forwarding.repetitions[0].reason == forwarding.reason
    assert [trial.step_rate for trial in forwarding.repetitions[0].trials[-3:]] == [200_000] * 3
    assert bounded.state == State.DONE
    assert bounded.values == [pytest.approx(30_000, abs=510)] * 2


@pytest.mark.parametrize(
    ("experiment", "trial"),
    [
        (PHASE2 | {"phase1_rate": "150k", "baseline": None}, "phase 1 at 150 kcps"),
        (VALIDATED | {"search": {"min_rate": "100k", "max_rate": "100k", "error": 500}}, "phase 1 at 100 kcps"),
    ],
)
def test_the_testers_limit_names_the_trial_it_failed_in(tmp_path: Path, experiment: dict[str, Any], trial: str) -> None:
    _, run = measure(tmp_path / "run", experiment, testbed={"tester_limit": "99k"})
    assert run.experiments[0].reason.startswith(f"tester limit reached in {trial}: 3 attempts")
    # A lower rate of the search would need the same phase 1.
    assert len(run.experiments[0].repetitions[0].trials) == 3


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_a_gateway_faster_than_the_tester_has_a_lower_bound(tmp_path: Path, kind: str) -> None:
    search = SEARCH | {"kind": kind}
    code, run = measure(
        tmp_path / "run", FORWARDING | {"search": search}, RATE | {"search": search}, testbed={"tester_limit": "100k"}
    )
    assert code == 0
    for experiment, unit in zip(run.experiments, ("kfps per direction", "kcps"), strict=True):
        assert experiment.values == [pytest.approx(100_000, abs=1010)] * 2
        assert {repetition.upper_bound for repetition in experiment.repetitions} == {None}
        assert re.fullmatch(rf"at least this: the tester could not send 10[01][.\d]* {unit}", experiment.reason)


def test_a_search_below_the_testers_limit_says_where_that_is(tmp_path: Path) -> None:
    search = SEARCH | {"kind": "binary"}
    _, run = measure(tmp_path / "run", FORWARDING | {"search": search}, testbed={"tester_limit": "400k"})
    (experiment,) = run.experiments
    assert experiment.values == [pytest.approx(250_000, abs=502)] * 2
    assert experiment.reason == ("the tester could not send 500.5 kfps per direction, and the search went on below")


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_a_search_begins_below_the_ceiling_of_the_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    known = FOUND.model_copy(update={"ceilings": [ceiling(64, Variant.PORTS, 350_000)]})
    monkeypatch.setattr("natxy.run.run.which_tester", lambda _: TESTER)
    monkeypatch.setattr("natxy.run.run.stored", lambda _: known)
    _, run = measure(
        tmp_path / "run", FORWARDING | {"search": SEARCH | {"kind": kind}}, testbed={"tester_limit": "360k"}
    )
    (experiment,) = run.experiments
    assert experiment.values == [pytest.approx(250_000, abs=502)] * 2
    assert not experiment.reason
    assert max(trial.step_rate for _, _, trial in experiment.all_trials) <= 350_001


def test_an_experiment_without_its_phase_1_rate_is_skipped(tmp_path: Path) -> None:
    code, run = measure(tmp_path / "run", FORWARDING, RATE, PHASE2, testbed={"tester_limit": 900})
    assert code == 3
    assert run.experiments[2].state == State.SKIPPED
    assert run.experiments[2].reason.endswith("'rate', which has no result: the tester's limit was reached")


def test_a_slow_tester_is_not_blamed_on_the_gateway(tmp_path: Path) -> None:
    beyond = FORWARDING | {"search": SEARCH | {"min_rate": "300k"}}
    never_prepared = PHASE2 | {"phase1_rate": "100k", "baseline": None}
    full, too_slow = {"table_capacity": 19_999}, {"tester_limit": "200k"}
    code, run = measure(tmp_path / "run", beyond, never_prepared, gateway=full, testbed=too_slow)
    assert [experiment.state for experiment in run.experiments] == [State.TESTER_LIMIT, State.NO_RESULT]
    assert code == 3


def test_a_run_with_a_skipped_experiment_is_no_success(tmp_path: Path) -> None:
    phase2 = PHASE2 | {"baseline": None}
    code, run = measure(tmp_path / "run", RATE, phase2, gateway={"table_capacity": 19_999})
    assert [experiment.state for experiment in run.experiments] == [State.DONE, State.SKIPPED]
    assert code == 4


def test_a_gateway_that_does_not_fit_ends_only_its_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: SimulatedGateway, need: TableNeed) -> None:
        if need.longest_trial_s < 1:
            raise PlanError("connections expire too early")

    monkeypatch.setattr(SimulatedGateway, "check", check)
    phase2 = PHASE2 | {"phase1_rate": "100k", "baseline": None}
    code, run = measure(tmp_path / "run", phase2, RATE)
    assert code == 2
    assert run.state == RunState.DONE
    unfit, rate = run.experiments
    assert (unfit.state, unfit.reason) == (State.FAILED, "connections expire too early")
    assert rate.state == State.DONE


class Fails(RunListener):
    """Raises an error in the third trial."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._finished = 0

    def progress(self, kind: TrialKind, progress: Progress) -> None:
        if self._finished == 2:
            self._finished += 1
            raise self._error

    def trial_finished(self, trial: FinishedTrial) -> None:
        self._finished += 1


def test_a_dut_that_fails_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    fails = Fails(DutError("the table cannot be cleared"))
    code, run = measure(tmp_path / "run", FORWARDING, RATE, listener=fails, order="experiments")
    assert code == 4
    failed, rate = run.experiments
    assert (failed.state, failed.reason) == (State.FAILED, "the table cannot be cleared")
    assert failed.repetitions[0].state == State.FAILED
    assert rate.state == State.DONE


@pytest.mark.parametrize("experiment", [FORWARDING, RATE, VALIDATED, PHASE2 | {"phase1_rate": "1k", "baseline": None}])
def test_a_gateway_that_forwards_nothing_failed(tmp_path: Path, experiment: dict[str, Any]) -> None:
    dead = {"forward_loss_ratio": 1, "reverse_loss_ratio": 1}
    code, run = measure(tmp_path / "run", experiment, gateway=dead)
    assert code == 4
    failed = run.experiments[0]
    assert (failed.state, failed.values) == (State.FAILED, [])
    assert failed.reason.startswith("the gateway forwards nothing: none of ")
    assert " at 1 k" in failed.reason
    assert [r.state for r in failed.repetitions] == [State.FAILED]


@pytest.mark.parametrize("experiment", [FORWARDING, VALIDATED])
def test_a_gateway_that_forwards_one_way_has_a_result(tmp_path: Path, experiment: dict[str, Any]) -> None:
    code, run = measure(tmp_path / "run", experiment, gateway={"reverse_loss_ratio": 1})
    assert code == 0
    assert run.experiments[0].values == [0, 0]


@pytest.mark.parametrize(
    ("error", "state", "experiment_state"),
    [
        (KeyboardInterrupt(), RunState.INTERRUPTED, State.INTERRUPTED),
        (RuntimeError("a mistake in natxy"), RunState.FAILED, State.FAILED),
    ],
)
def test_an_aborted_run_keeps_its_trials(
    tmp_path: Path, error: BaseException, state: RunState, experiment_state: State
) -> None:
    with pytest.raises(type(error)):
        measure(tmp_path / "run", FORWARDING, listener=Fails(error))
    run = RunReader(tmp_path / "run").run
    assert run.state == state
    assert run.finished_at is not None
    experiment = run.experiments[0]
    assert (experiment.state, experiment.repetitions[0].state) == (experiment_state, experiment_state)
    assert len(experiment.repetitions[0].trials) == 2


class EngineDies(RunListener):
    """Raises EngineDiedError after these trials."""

    def __init__(self, *trials: int) -> None:
        self._deaths = trials
        self.trials = 0

    def trial_finished(self, trial: FinishedTrial) -> None:
        self.trials += 1
        if self.trials in self._deaths:
            raise EngineDiedError("it ended")


def test_an_engine_that_dies_ends_its_experiment_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    discarded: list[object] = []
    monkeypatch.setattr(Setups, "discard", lambda setups: discarded.append(setups))
    others = [FORWARDING | {"name": name} for name in ("second", "third")]
    # The last of the first experiment and one of the third: an experiment that ended lies between them.
    in_order: Any = {"order": "experiments"}
    code, run = measure(tmp_path / "whole", FORWARDING, *others, **in_order)
    ends = [sum(len(r.trials) for e in run.experiments[:end] for r in e.repetitions) for end in (1, 2)]
    discarded.clear()
    code, run = measure(tmp_path / "run", FORWARDING, *others, listener=EngineDies(ends[0], ends[1] + 3), **in_order)
    assert (code, run.state) == (5, RunState.DONE)
    assert [experiment.state for experiment in run.experiments] == [State.FAILED, State.DONE, State.FAILED]
    assert run.experiments[0].reason == "it ended"
    assert len(discarded) == 2
    assert resume_plan(load_plan(tmp_path / "run" / PLAN_FILE), tmp_path / "run", RunListener()) == 0
    again = RunReader(tmp_path / "run").run
    assert [experiment.state for experiment in again.experiments] == [State.DONE] * 3


def test_a_second_engine_in_a_row_that_dies_ends_the_run(tmp_path: Path) -> None:
    others = [FORWARDING | {"name": name} for name in ("second", "third")]
    with pytest.raises(EngineDiedError):
        measure(tmp_path / "run", FORWARDING, *others, listener=EngineDies(3, 6), order="experiments")
    run = RunReader(tmp_path / "run").run
    assert run.state == RunState.FAILED
    assert [experiment.state for experiment in run.experiments] == [State.FAILED, State.FAILED, State.PENDING]


def test_every_testbed_of_a_run_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up = Setups._set_up

    def of_its_own(self: Setups, stack: ExitStack, experiment: Experiment) -> Setup:
        setup = set_up(self, stack, experiment)
        return replace(
            setup, dut_description={"cores": experiment.name}, deviations=[*setup.deviations, experiment.name]
        )

    monkeypatch.setattr(Setups, "_set_up", of_its_own)
    fast, slow = ({"driver": "simulated", "forwarding_fps": rate} for rate in ("200k", "100k"))
    _, run = measure(
        tmp_path / "run", FORWARDING | {"name": "fast", "gateway": fast}, FORWARDING | {"name": "slow", "gateway": slow}
    )
    assert [e.dut and e.dut.settings["cores"] for e in run.experiments] == ["fast", "slow"]
    assert len(run.deviations) == len({*run.deviations})
    assert {"fast", "slow"} < {*run.deviations}


def lose_the_second_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the second repetition of a connection rate end without a result."""
    sound = ConnectionRate.measure

    def loses_the_second(self: ConnectionRate, repetition: Repetition) -> ProcedureResult:
        result = sound(self, repetition)
        return replace(result, figures=dict.fromkeys(result.figures)) if repetition.number == 2 else result

    monkeypatch.setattr(ConnectionRate, "measure", loses_the_second)


def test_a_resumed_run_lists_each_deviation_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        measure(folder, FORWARDING, RATE, listener=Fails(KeyboardInterrupt()))
    before = RunReader(folder).run.deviations
    assert {*deviations(load_plan(folder / PLAN_FILE))} < {*before}
    # Another build of the same version may word its sentences otherwise.
    monkeypatch.setattr("natxy.procedures.deviations._departures", lambda plan: ["A trial is short."])
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    assert RunReader(folder).run.deviations == before


def test_another_version_resumes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        measure(folder, FORWARDING, RATE, listener=Fails(KeyboardInterrupt()))
    before = RunReader(folder).run
    monkeypatch.setattr("natxy.run.run.__version__", "99.0")
    with pytest.raises(PlanError, match=f"was measured by natxy {re.escape(__version__)}, this is 99.0"):
        resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener())
    assert RunReader(folder).run == before


def test_repetitions_without_a_result_leave_the_median_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_the_second_result(monkeypatch)
    folder = tmp_path / "run"
    code, run = measure(folder, FORWARDING, RATE, PHASE2, order="experiments")
    assert code == 4
    assert [experiment.state for experiment in run.experiments] == [State.DONE, State.NO_RESULT, State.DONE]
    assert states.state(run.experiments[1]) == "1 of 2 repetitions without result"
    phase1 = {t.rate_fps for r in run.experiments[2].repetitions for t in r.trials if t.kind == TrialKind.PHASE1}
    assert [*phase1] == [pytest.approx(run.experiments[1].values[0] / 2)]
    # Measured again it might have another median, which the one after it was not measured with.
    monkeypatch.undo()
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 4
    assert without_times(RunReader(folder).run) == without_times(run)


class Stops(RunListener):
    """Raises an error before anything is measured."""

    def __init__(self, error: BaseException, engine_log: Path | None = None) -> None:
        self._error = error
        self._engine_log = engine_log

    def repetition_started(self, experiment: object, number: int) -> None:
        if self._engine_log:
            self._engine_log.write_text("EAL: no such device")
        raise self._error


def test_a_run_that_measured_nothing_leaves_nothing(tmp_path: Path) -> None:
    for error in (KeyboardInterrupt(), PlanError("a lab needs root")):
        with pytest.raises(type(error)):
            measure(tmp_path / "runs" / "run", FORWARDING, listener=Stops(error))
        assert [*tmp_path.iterdir()] == []


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    with pytest.raises(PlanError):
        measure(tmp_path, FORWARDING, listener=Stops(PlanError("a lab needs root")))
    assert tmp_path.exists()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("error", [EngineDiedError("it ended"), PlanError("no such device")])
def test_the_log_of_a_failed_engine_stays(tmp_path: Path, error: NatxyError) -> None:
    folder = tmp_path / "run"
    with pytest.raises(type(error)):
        measure(folder, FORWARDING, listener=Stops(error, folder / ENGINE_LOG))
    assert (folder / ENGINE_LOG).read_text() == "EAL: no such device"


def without_times(run: RunRecord) -> str:
    return re.sub(r"_at='[^']*'", "", repr(run.experiments))


def test_a_seed_reproduces_a_run(tmp_path: Path) -> None:
    noisy = {"noise": 0.1}
    first = measure(tmp_path / "first", FORWARDING, RATE, testbed=noisy)[1]
    second = measure(tmp_path / "second", FORWARDING, RATE, testbed=noisy)[1]
    assert without_times(first) == without_times(second)
    assert first.experiments[0].statistics is not None
    assert first.experiments[0].statistics.dispersion


def test_the_folder_holds_the_resolved_plan(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING)
    assert (tmp_path / "run" / PLAN_FILE).read_text() == run.plan_yaml
    assert "frame_size: 64" in run.plan_yaml


def test_the_folder_is_not_for_all_users(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        measure(tmp_path / "runs" / "run", FORWARDING, repeat=1)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("runs", "runs/run")] == [0o755, 0o750]
