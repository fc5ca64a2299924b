# SPDX-License-Identifier: Apache-2.0
"""A phase 1 that fails does not count as a failure of the measurement that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Final, cast

import pytest

from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.events.listener import RunListener
from natxy.events.trials import TrialFinished
from natxy.plan.frames.segments import Flags
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.procedures.common.phase1 import begin_with_connections, phase1_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.table_check import RATE_FPS
from natxy.procedures.truth_test import BURST, SEARCH, plan_of
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.results.trials import Purpose, TrialKind
from natxy.run.run import resume_plan, run_plan
from natxy.search.outcome import Attempt, Outcome

GATEWAY: Final = {
    "forwarding_fps": 200_000,
    "buffer_frames": 2 * BURST,
    "flow_cost": 1e-5,
    "recovery_time": 0.1,
    "restart_time": 0.1,
    "forward_delay_ns": 5000,
    "delay_spread_ns": 1000,
    "frame_instructions": 1000,
}
ATTEMPTS: Final = 3


def cases() -> Iterator[Any]:
    """Yields every procedure that has a phase 1 before its measurement, with each kind of search it can have."""
    for name, declaration in DECLARATIONS.items():
        takes = declaration.takes
        if "phase1_rate" in takes:
            yield pytest.param(name, {}, id=name)
            if "search" in takes:
                mlr = {"kind": "mlrsearch", **SEARCH}
                yield pytest.param(name, {"search": mlr}, id=f"{name}, mlrsearch")


every_procedure = pytest.mark.parametrize(("procedure", "others"), [*cases()])


def plan(procedure: str, others: dict[str, Any]) -> ResolvedPlan:
    traffic = not DECLARATIONS[procedure].stateful
    return plan_of(procedure, GATEWAY, phase2=traffic, max_invalid=ATTEMPTS, **others)


def test_the_time_of_a_phase_1_is_that_of_its_connections_and_pauses() -> None:
    [own] = plan("throughput", {}).experiments
    timing = own.timing.model_copy(update={"drain": 3.0, "drain_ends_early": False, "learning_pause": 2.0})
    own = own.model_copy(update={"connections": 5000, "timing": timing})
    assert phase1_s(own, 1000) == pytest.approx(5 + 3 + 2, abs=0.01)
    assert phase1_s(own.model_copy(update={"pairs": 4}), 1000) == pytest.approx(20 + 3 + 2, abs=0.01)
    assert phase1_s(own, None) == phase1_s(own.model_copy(update={"connections": None}), 1000) == 0


@pytest.mark.parametrize(
    ("verdict", "goes_on", "slept"),
    [("pass", True, [2.0]), ("invalid", True, []), ("fail", False, []), ("disturbed", False, [])],
)
def test_only_connections_that_were_made_have_a_pause(verdict: str, goes_on: bool, slept: list[float]) -> None:
    [own] = plan("throughput", {}).experiments
    own = own.model_copy(update={"timing": own.timing.model_copy(update={"learning_pause": 2.0})})
    values: dict[str, Any] = {"verdict": Verdict(verdict)}
    made = TrialResult.model_construct(**values)
    pauses: list[float] = []
    purposes: list[Purpose] = []

    def trial(_: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float, run: object) -> TrialResult:
        assert (kind, rate_fps) == (TrialKind.PHASE1, 700)
        purposes.append(purpose)
        return made

    repetition = SimpleNamespace(experiment=own, phase1_fps=700, begin=lambda _: None, trial=trial, sleep=pauses.append)
    result = begin_with_connections(cast("Repetition", repetition), Attempt(1, 1, 5000))
    assert result is (made if goes_on else None)
    assert (pauses, purposes) == (slept, [Purpose.PREPARE])


def experiment(folder: Path) -> ExperimentRecord:
    return RunReader(folder).run.experiments[0]


class Phase1:
    """Spoils a frame of each phase 1 for which `fails(seed)` is true; records all seeds, and the `failed` ones."""

    def __init__(self, patch: pytest.MonkeyPatch, fails: Callable[[int], bool]) -> None:
        self.seeds: list[int] = []
        self.failed: set[int] = set()
        run_trial = SimulatedEngine.run_trial

        def spoils_a_frame(
            engine: SimulatedEngine, request: TrialRequest, on_progress: OnProgress = None
        ) -> TrialResult:
            result = run_trial(engine, request, on_progress)
            if not request.phase1 or request.streams[0].rate_fps == RATE_FPS:
                # Some are made to check the gateway's table, and belong to no attempt.
                return result
            self.seeds.append(request.seed)
            if not fails(request.seed):
                return result
            self.failed.add(request.seed)
            spoilt = {"received": request.streams[0].frames - 1, "lost": 1, "corrupt": 1}
            failed = {"verdict": Verdict.FAIL, "cause": Cause.LOSS, "reason": "phase 1: 1 frame corrupt"}
            return result.model_copy(update=failed | {"streams": [result.streams[0].model_copy(update=spoilt)]})

        patch.setattr(SimulatedEngine, "run_trial", spoils_a_frame)


def every_second() -> Callable[[int], bool]:
    """The first included."""
    calls = 0

    def fails(_: int) -> bool:
        nonlocal calls
        calls += 1
        return calls % 2 == 1

    return fails


@every_procedure
def test_one_that_fails_once_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, procedure: str, others: dict[str, Any]
) -> None:
    assert run_plan(plan(procedure, others), tmp_path / "sound", RunListener()) == 0
    phase1 = Phase1(monkeypatch, every_second())
    assert run_plan(plan(procedure, others), tmp_path / "flaky", RunListener()) == 0
    sound, flaky = experiment(tmp_path / "sound").repetitions[0], experiment(tmp_path / "flaky").repetitions[0]
    assert (flaky.figures, flaky.curves, flaky.reason) == (sound.figures, sound.curves, sound.reason)
    assert (flaky.lower_bound, flaky.upper_bound) == (sound.lower_bound, sound.upper_bound)
    tried = [[step.outcome for step in steps] for _, steps in groupby(flaky.steps, lambda step: step.number)]
    assert tried == [[Outcome.UNPREPARED, step.outcome] for step in sound.steps]
    assert len(set(phase1.seeds)) == len(phase1.seeds) == 2 * len(sound.steps)


@every_procedure
def test_one_that_always_fails_gives_no_result_until_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, procedure: str, others: dict[str, Any]
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        Phase1(patch, lambda _: True)
        assert run_plan(plan(procedure, others), folder, RunListener()) == 4
        failed = experiment(folder)
        assert resume_plan(plan(procedure, others), folder, RunListener()) == 4
    assert failed.state == State.NO_RESULT
    assert failed.reason.startswith(
        "phase 1 at 1 kcps failed in 3 of 3 attempts: 1 of the missing frames came through with a wrong checksum"
    )
    repetition = failed.repetitions[0]
    assert (repetition.state, repetition.reason, repetition.value) == (State.NO_RESULT, failed.reason, None)
    assert set(repetition.figures) == {figure.name for figure in failed.declaration.figures}
    assert set(repetition.figures.values()) == {None}
    assert [trial.kind for trial in repetition.trials] == [TrialKind.PHASE1] * ATTEMPTS
    assert [step.outcome for step in repetition.steps] == [Outcome.UNPREPARED] * ATTEMPTS
    assert len(experiment(folder).repetitions[0].trials) == ATTEMPTS
    assert resume_plan(plan(procedure, others), folder, RunListener()) == 0
    run_plan(plan(procedure, others), tmp_path / "sound", RunListener())
    assert experiment(folder).repetitions[0].figures == experiment(tmp_path / "sound").repetitions[0].figures
    assert experiment(folder).state == State.DONE


class InterruptedAfter(RunListener):
    def __init__(self, trials: int) -> None:
        self._left = trials

    def trial_finished(self, event: TrialFinished) -> None:
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("procedure", ["throughput", "back-to-back", "latency", "tear-down-rate"])
def test_a_run_cut_short_between_its_tries_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, procedure: str
) -> None:
    with monkeypatch.context() as patch:
        phase1 = Phase1(patch, every_second())
        run_plan(plan(procedure, {}), tmp_path / "unbroken", RunListener())
    Phase1(monkeypatch, phase1.failed.__contains__)
    unbroken = experiment(tmp_path / "unbroken").repetitions[0]
    for trials in range(1, min(len(unbroken.trials), 12) + 1):
        folder = tmp_path / str(trials)
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan(procedure, {}), folder, InterruptedAfter(trials))
        assert resume_plan(plan(procedure, {}), folder, RunListener()) == 0
        resumed = experiment(folder).repetitions[0]
        told = [
            [(trial.number, trial.attempt, trial.kind, trial.verdict) for trial in repetition.trials]
            for repetition in (resumed, unbroken)
        ]
        assert told[0] == told[1]
        assert resumed.figures == unbroken.figures


def test_tries_that_the_tester_spoilt_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Phase1(monkeypatch, every_second())
    at_20k = plan_of("latency", GATEWAY, phase2=True, max_invalid=ATTEMPTS)
    slow = at_20k.testbed.model_copy(update={"tester_limit": 5000.0})
    assert run_plan(at_20k.model_copy(update={"testbed": slow}), tmp_path / "run", RunListener()) == 4
    assert experiment(tmp_path / "run").reason.startswith(
        "phase 1 at 1 kcps failed in 2 of 3 attempts, the others were invalid: 1 of the missing frames came"
    )


def test_one_failed_phase_1_among_tries_that_the_tester_spoilt_is_the_testers_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_other = every_second()
    Phase1(monkeypatch, lambda seed: not every_other(seed))
    at_20k = plan_of("latency", GATEWAY, phase2=True, max_invalid=ATTEMPTS)
    slow = at_20k.testbed.model_copy(update={"tester_limit": 5000.0})
    assert run_plan(at_20k.model_copy(update={"testbed": slow}), tmp_path / "run", RunListener()) == 3
    limited = experiment(tmp_path / "run")
    assert limited.state == State.TESTER_LIMIT
    assert ": 3 attempts, 2 invalid; the last: " in limited.reason
    assert "phase1_rate" not in limited.reason


class _Steps(SimulatedEngine):
    """An engine that notes which segments of all connections are requested, and loses a frame of one kind."""

    lossy: Flags | None = None
    asked: ClassVar[list[Flags]] = []

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        asked = request.streams[0]
        segment = asked.frame.segment.flags if asked.frame.segment and asked.frames == 100 else None
        if segment:
            self.asked.append(segment)
        found = super().run_trial(request, on_progress)
        if segment is None or segment != self.lossy:
            return found
        (stream,) = found.streams
        lost = stream.model_copy(update={"received": stream.received - 1, "lost": 1})
        return found.model_copy(update={"verdict": Verdict.FAIL, "cause": Cause.LOSS, "streams": [lost]})


@pytest.mark.parametrize(
    ("lossy", "passed"),
    [
        (None, [Flags.SYN, Flags.SYN_ACK, Flags.ACK]),
        (Flags.SYN, [Flags.SYN]),
        (Flags.SYN_ACK, [Flags.SYN, Flags.SYN_ACK]),
        (Flags.ACK, [Flags.SYN, Flags.SYN_ACK, Flags.ACK]),
    ],
)
def test_a_handshake_ends_with_the_first_step_that_fails(
    lossy: Flags | None, passed: list[Flags], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("natxy.testbeds.simulated.SimulatedEngine", _Steps)
    monkeypatch.setattr(_Steps, "lossy", lossy)
    monkeypatch.setattr(_Steps, "asked", [])
    own = {"procedure": "connection-rate", "gateway": {"driver": "simulated"}, "protocol": "tcp", "connections": 100}
    search = {"kind": "binary", "min_rate": "1k", "max_rate": "1k", "error": "1%"}
    experiment = {"name": "x", "search": search, **own}
    written = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    run_plan(resolve(Plan.model_validate(written)), tmp_path / "run", RunListener())
    (found,) = RunReader(tmp_path / "run").run.experiments
    kinds = [TrialKind.PHASE1, TrialKind.SYN_ACK, TrialKind.ACK][: len(passed)]
    trials = found.repetitions[0].trials
    assert [trial.kind for trial in trials[: len(passed)]] == kinds
    assert _Steps.asked[: len(passed)] == passed
    assert trials[len(passed) - 1].verdict == (Verdict.PASS if lossy is None else Verdict.FAIL)
    assert (found.repetitions[0].lower_bound is None) == (lossy is not None)
