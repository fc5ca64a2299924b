# SPDX-License-Identifier: Apache-2.0
"""Plans are carried out in virtual time: this checks the folder, resuming, and what an ended run keeps."""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import EngineDiedError, NatxyError, PlanError
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted
from natxy.events.trials import TrialFinished, TrialProgress
from natxy.installation import full_version
from natxy.plan.caveats import limitation
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.connection_rate import ConnectionRate
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState, State
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


class Fails(RunListener):
    """Raises an error in the third trial."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._finished = 0

    def trial_progress(self, event: TrialProgress) -> None:
        if self._finished == 2:
            self._finished += 1
            raise self._error

    def trial_finished(self, event: TrialFinished) -> None:
        self._finished += 1


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

    def trial_finished(self, event: TrialFinished) -> None:
        self.trials += 1
        if self.trials in self._deaths:
            raise EngineDiedError("it ended")


def test_every_testbed_of_a_run_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up = Setups._set_up

    def of_its_own(self: Setups, stack: ExitStack, experiment: Experiment) -> Setup:
        setup = set_up(self, stack, experiment)
        return replace(
            setup, dut_description={"cores": experiment.name}, caveats=[*setup.caveats, limitation(experiment.name)]
        )

    monkeypatch.setattr(Setups, "_set_up", of_its_own)
    fast, slow = ({"driver": "simulated", "forwarding_fps": rate} for rate in ("200k", "100k"))
    _, run = measure(
        tmp_path / "run", FORWARDING | {"name": "fast", "gateway": fast}, FORWARDING | {"name": "slow", "gateway": slow}
    )
    assert [dut.settings["cores"] for e in run.experiments for dut in e.duts] == ["fast", "slow"]
    assert len(run.caveats) == len({*run.caveats})
    assert {limitation("fast"), limitation("slow")} < {*run.caveats}


def lose_the_second_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the second repetition of a connection rate end without a result."""
    sound = ConnectionRate.measure

    def loses_the_second(self: ConnectionRate, repetition: Repetition) -> ProcedureResult:
        result = sound(self, repetition)
        return replace(result, figures=dict.fromkeys(result.figures)) if repetition.number == 2 else result

    monkeypatch.setattr(ConnectionRate, "measure", loses_the_second)


def test_a_resumed_run_lists_each_caveat_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        measure(folder, FORWARDING, RATE, listener=Fails(KeyboardInterrupt()))
    before = RunReader(folder).run.caveats
    assert {*caveats_of_plan(load_plan(folder / PLAN_FILE))} < {*before}
    # Another build of the same version may word its sentences otherwise.
    monkeypatch.setattr("natxy.procedures.caveats._measured", lambda plan: [limitation("A trial is short.")])
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    assert RunReader(folder).run.caveats == before


def test_another_version_resumes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        measure(folder, FORWARDING, RATE, listener=Fails(KeyboardInterrupt()))
    before = RunReader(folder).run
    monkeypatch.setattr("natxy.run.run.__version__", "99.0")
    with pytest.raises(PlanError, match=f"was measured by natxy {re.escape(full_version())}, this is "):
        resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener())
    assert RunReader(folder).run == before


class Stops(RunListener):
    """Raises an error before anything is measured."""

    def __init__(self, error: BaseException, engine_log: Path | None = None) -> None:
        self._error = error
        self._engine_log = engine_log

    def repetition_started(self, event: RepetitionStarted) -> None:
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
