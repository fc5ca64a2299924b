# SPDX-License-Identifier: Apache-2.0
"""A gateway, its table or the engine fails in these runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.errors import DutError, EngineDiedError, GatewayDiedError, PlanError
from natxy.events.listener import RunListener
from natxy.plan.gateways.base import TableNeed
from natxy.plan.yaml.loading import load_plan
from natxy.report.words import states
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from natxy.results.trials import TrialKind
from natxy.run.folder import PLAN_FILE
from natxy.run.run import resume_plan
from natxy.run.run_test import (
    FORWARDING,
    PHASE2,
    RATE,
    SEARCH,
    VALIDATED,
    EngineDies,
    Fails,
    lose_the_second_result,
    measure,
    without_times,
)
from natxy.run.setup import Setups


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


def test_a_dut_that_fails_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    fails = Fails(DutError("the table cannot be cleared"))
    code, run = measure(tmp_path / "run", FORWARDING, RATE, listener=fails, order="experiments")
    assert code == 4
    failed, rate = run.experiments
    assert (failed.state, failed.reason) == (State.FAILED, "the table cannot be cleared")
    assert failed.repetitions[0].state == State.FAILED
    assert rate.state == State.DONE


class Dies:
    """Makes simulated gateways die by the end of the third trial, until another one is set up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        monkeypatch.setattr(SimulatedGateway, "check_alive", lambda _: self._check())
        monkeypatch.setattr(SimulatedGateway, "apply", lambda _: None)

    def _check(self) -> None:
        self.asked += 1
        if self.asked == 3:
            raise GatewayDiedError("its process gw (pid 7) ended")


def test_a_gateway_that_dies_ends_its_experiment_without_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = Dies(monkeypatch)
    code, run = measure(tmp_path / "run", FORWARDING, RATE, order="experiments", repeat=1)
    assert code == 4
    died, rate = run.experiments
    assert died.state == State.FAILED
    assert died.reason.startswith("the gateway died by the end of traffic at ")
    assert "its process gw (pid 7) ended; " in died.reason
    [repetition] = died.repetitions
    assert (repetition.state, repetition.value, repetition.reason) == (State.FAILED, None, died.reason)
    # The trial in which it died is in no search.
    assert len(repetition.trials) == 2
    assert rate.state == State.DONE
    assert dies.asked == 3 + len(rate.repetitions[0].trials)
    # A resumed run measures that trial again.
    plan = load_plan(tmp_path / "run" / PLAN_FILE)
    assert resume_plan(plan, tmp_path / "run", RunListener()) == 0


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


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(
    "experiment",
    [FORWARDING, FORWARDING | {"search": SEARCH | {"kind": "binary"}}], ids=["mlrsearch", "binary"]
)  # fmt: skip
def test_a_direction_that_delivers_nothing_is_no_rate(
    tmp_path: Path, experiment: dict[str, Any], direction: str
) -> None:
    code, run = measure(tmp_path / "run", experiment, gateway={f"{direction}_loss_ratio": 1}, repeat=1)
    assert code == 4
    failed = run.experiments[0]
    assert (failed.state, failed.values) == (State.FAILED, [])
    assert failed.reason.startswith(f"the gateway forwards nothing of {direction}: none of ")


def test_a_validation_without_a_reply_is_no_rate(tmp_path: Path) -> None:
    code, run = measure(tmp_path / "run", VALIDATED, gateway={"reverse_loss_ratio": 1}, repeat=1)
    assert code == 4
    assert run.experiments[0].reason.startswith("the gateway forwards nothing of validation: none of ")
    assert " in validation at 500 fps, the search's lowest rate, but 120,000 others did; " in run.experiments[0].reason


def test_an_engine_that_dies_ends_its_experiment_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    discarded: list[object] = []
    monkeypatch.setattr(Setups, "discard", lambda setups, *_: discarded.append(setups))
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
    # Once for each engine that ended, and at the end of the run.
    assert len(discarded) == 3
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
