# SPDX-License-Identifier: Apache-2.0
"""Tests how an experiment ends, by short runs in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.dut.base import DutDescription
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import StreamKind, TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError, EngineDiedError, GatewayMissingError, HostError
from natxy.events.listener import RunListener
from natxy.events.trials import AttemptStarted
from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.run.run_test import FORWARDING, RATE, measure


@pytest.mark.parametrize(
    ("testbed", "code", "state", "reason"),
    [
        ({}, 0, State.DONE, ""),
        ({"tester_limit": "900"}, 3, State.TESTER_LIMIT, "tester limit reached in traffic at "),
    ],
)
def test_the_end_of_an_experiment_is_stored(
    tmp_path: Path, testbed: dict[str, Any], code: int, state: State, reason: str
) -> None:
    found, run = measure(tmp_path / "run", FORWARDING, testbed=testbed)
    [experiment] = run.experiments
    assert (found, experiment.state) == (code, state)
    assert experiment.reason.startswith(reason)
    assert {repetition.state for repetition in experiment.repetitions} == {state}


def test_an_experiment_is_running_from_its_first_repetition_on(tmp_path: Path) -> None:
    class Watching(RunListener):
        def __init__(self) -> None:
            self.states: list[State] = []

        def attempt_started(self, event: AttemptStarted) -> None:
            del event
            self.states = [experiment.state for experiment in RunReader(tmp_path / "run").run.experiments]

    watching = Watching()
    _, run = measure(tmp_path / "run", FORWARDING, FORWARDING | {"name": "second"}, listener=watching, repeat=1)
    assert {*watching.states} == {State.DONE, State.RUNNING}, "at the last attempt, of either experiment"
    assert [experiment.state for experiment in run.experiments] == [State.DONE, State.DONE]


def test_a_gateway_is_described_once_for_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[object] = []
    describe = SimulatedGateway.describe

    def note(gateway: SimulatedGateway) -> DutDescription:
        described.append(gateway)
        return describe(gateway)

    monkeypatch.setattr(SimulatedGateway, "describe", note)
    measure(tmp_path / "run", FORWARDING, FORWARDING | {"name": "second"}, repeat=2)
    assert len(described) == 2


@pytest.mark.parametrize(
    ("error", "code", "state"),
    [
        (DutError("it burns"), 4, State.FAILED),
        (GatewayMissingError("no nft"), 4, State.SKIPPED),
        (HostError("no iperf3"), 3, State.HOST_FAILED),
    ],
)
@pytest.mark.parametrize("order", ["blocks", "experiments"])
def test_an_error_of_its_gateway_or_hosts_ends_only_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, state: State, order: str
) -> None:
    def fail(_: SimulatedGateway) -> None:
        raise error

    monkeypatch.setattr(SimulatedGateway, "clear", fail)
    found, run = measure(tmp_path / "run", RATE, FORWARDING, order=order)
    rate, forwarding = run.experiments
    assert found == code
    assert (rate.state, rate.reason, forwarding.state) == (state, str(error), State.DONE)
    assert len(rate.repetitions) == 1


@pytest.mark.parametrize(
    ("error", "state"), [(KeyboardInterrupt(), State.INTERRUPTED), (OSError("disk"), State.FAILED)]
)
def test_another_error_ends_the_run_and_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, state: State
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(SimulatedEngine, "run_trial", fail)
    with pytest.raises(type(error)):
        measure(tmp_path / "run", FORWARDING)
    experiment = RunReader(tmp_path / "run").run.experiments[0]
    reason = "interrupted" if state is State.INTERRUPTED else "an error in natxy"
    assert (experiment.state, experiment.reason) == (state, reason)


def test_an_engine_that_dies_ends_the_experiment_first_and_the_run_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_trial = SimulatedEngine.run_trial

    def die(engine: SimulatedEngine, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        # The first experiment makes connections, and its table is asked by replies.
        if request.streams[0].kind == StreamKind.FLOWS and not request.phase1:
            raise EngineDiedError("killed")
        return run_trial(engine, request, on_progress)

    monkeypatch.setattr(SimulatedEngine, "run_trial", die)
    more = [FORWARDING | {"name": name} for name in ("second", "third")]
    with pytest.raises(EngineDiedError):
        measure(tmp_path / "run", RATE, FORWARDING, *more, order="experiments")
    states = [experiment.state for experiment in RunReader(tmp_path / "run").run.experiments]
    assert states == [State.DONE, State.FAILED, State.FAILED, State.PENDING]


def test_a_run_does_not_go_on_at_a_limit_that_two_repetitions_reached(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, testbed={"tester_limit": "900"}, repeat=5)
    assert [repetition.state for repetition in run.experiments[0].repetitions] == [State.TESTER_LIMIT] * 2
