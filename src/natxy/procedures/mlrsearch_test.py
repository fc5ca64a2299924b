# SPDX-License-Identifier: Apache-2.0
"""`search: {kind: mlrsearch}` from the plan to the report, in virtual time."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from natxy.dut.drivers.wire import Wire
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.events.listener import RunListener
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.gateways.wire import WireConfig
from natxy.plan.model.problems import PlanProblems
from natxy.plan.model.search import Goal
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.run.run import run_plan
from natxy.run.setup import Setup, Setups

SEARCH = {"kind": "mlrsearch", "min_rate": "1k", "max_rate": "1M", "error": "0.5%"}
THROUGHPUT: dict[str, Any] = {"name": "forwarding", "procedure": "throughput"}
RATE: dict[str, Any] = {"name": "rate", "procedure": "connection-rate", "connections": "20k"}
VALIDATED = RATE | {"name": "validated", "procedure": "validated-connection-rate"}
PHASE2 = THROUGHPUT | {"name": "phase2", "connections": "20k", "phase1_rate": {"experiment": "rate", "percent": 50}}


def plan_of(*experiments: dict[str, Any], testbed: dict[str, Any] | None = None, **search: Any) -> Plan:
    common = {"gateway": {"driver": "simulated"}, "search": SEARCH | search}
    return Plan.model_validate(
        {
            "name": "p",
            "repeat": 2,
            "timing": {"preset": "rfc", "trial": "60s"},
            "testbed": {"kind": "simulated"} | (testbed or {}),
            "experiments": [common | experiment for experiment in experiments],
        }
    )


def measure(folder: Path, plan: Plan) -> tuple[int, RunRecord]:
    code = run_plan(resolve(plan), folder, RunListener())
    return code, RunReader(folder).run


@pytest.mark.parametrize("goal", ["strict", "fast"])
def test_throughput_is_the_models_truth(tmp_path: Path, goal: str) -> None:
    code, run = measure(tmp_path / "run", plan_of(THROUGHPUT, goal=goal))
    experiment = run.experiments[0]
    assert code == 0
    assert experiment.values == [pytest.approx(250_000, rel=0.005)] * 2
    repetition = experiment.repetitions[0]
    durations = {round(trial.duration_s, 3) for trial in repetition.trials}
    assert durations == ({60} if goal == "strict" else {1, 60})
    # A short trial can show that a rate is too high, but not that it passes.
    assert repetition.lower_bound in {trial.step_rate for trial in repetition.trials if trial.duration_s > 59}
    assert len(repetition.trials) < 10


def test_connection_rates_and_phase_2(tmp_path: Path) -> None:
    code, run = measure(tmp_path / "run", plan_of(RATE, VALIDATED, PHASE2))
    found = {e.name: e.statistics.median for e in run.experiments if e.statistics}
    assert code == 0
    assert found["rate"] == found["validated"] == pytest.approx(200_000, rel=0.005)
    assert found["phase2"] == pytest.approx(250_000, rel=0.005)
    trials = run.experiments[0].repetitions[0].trials
    assert {trial.sent for trial in trials} == {20_000}


def test_each_direction_counts_apart(tmp_path: Path) -> None:
    lossy = THROUGHPUT | {"gateway": {"driver": "simulated", "reverse_loss_ratio": 0.01}}
    _, run = measure(tmp_path / "run", plan_of(lossy))
    assert run.experiments[0].values == [0, 0]


def test_noise_leaves_it_near_the_truth(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", plan_of(THROUGHPUT, testbed={"noise": 0.05}))
    assert run.experiments[0].values == [pytest.approx(250_000, rel=0.06)] * 2


def test_a_tester_slower_than_the_gateway_gives_a_lower_bound(tmp_path: Path) -> None:
    code, run = measure(tmp_path / "run", plan_of(THROUGHPUT, testbed={"tester_limit": "200k"}))
    (experiment,) = run.experiments
    assert (code, experiment.state) == (0, State.DONE)
    assert experiment.values == [pytest.approx(200_000, rel=0.006)] * 2
    assert {repetition.upper_bound for repetition in experiment.repetitions} == {None}
    assert experiment.reason.startswith("at least this: the tester could not send 200.")


def test_the_highest_rate_may_be_more_than_the_tester_sends(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", plan_of(THROUGHPUT, testbed={"tester_limit": "500k"}))
    assert run.experiments[0].values == [pytest.approx(250_000, rel=0.005)] * 2


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_over_a_loop_the_testers_limit_is_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def set_up(self: Setups, _: ExitStack, experiment: Experiment) -> Setup:
        assert isinstance(experiment.gateway, WireConfig)
        engine = SimulatedEngine(SimulatedDut(SimulatedConfig(forwarding_fps=10e6)), tester_limit_fps=500_000)
        return Setup(engine, partial(self._in_hand, Wire(experiment.gateway)), None, lambda _: None, (), {}, {}, {}, [])

    monkeypatch.setattr(Setups, "_set_up", set_up)
    search = {"kind": kind, "min_rate": "10k", "max_rate": "1M", "error": "1%"}
    wire = {"name": "w", "procedure": "throughput", "gateway": "wire", "search": search}
    plan = Plan.model_validate(
        {"name": "p", "timing": "lab", "repeat": 1, "testbed": {"kind": "loop"}, "experiments": [wire]}
    )
    code, run = measure(tmp_path / "run", plan)
    assert (code, run.experiments[0].state) == (0, State.DONE)
    assert run.experiments[0].values == [pytest.approx(500_000, rel=0.02)]


def test_the_goal_is_resolved_and_printed(tmp_path: Path) -> None:
    plan = resolve(plan_of(THROUGHPUT, goal="fast"))
    search = plan.experiments[0].search
    assert search is not None
    assert search.goal == Goal(initial_trial=1, final_trial=60, duration_sum=60, exceed_ratio=0)
    again = resolve(Plan.model_validate(plan.model_dump(mode="json", exclude_none=True)))
    assert again.experiments == plan.experiments
    _, run = measure(tmp_path / "run", plan_of(THROUGHPUT, goal="fast"))
    rows = {row[0]: row[1] for row in results_tables.rfc_form(run)[0].rows}
    assert rows["Search"] == ("MLRsearch, goal loss ratio 0, goal exceed ratio 0, trials of 1 s to 60 s, 60 s a rate")


def test_short_trials_are_seldom_shorter_than_a_tenth_of_a_second() -> None:
    plan = resolve(plan_of(THROUGHPUT | {"timing": "lab"}, goal="fast"))
    search = plan.experiments[0].search
    assert search is not None
    assert search.goal is not None
    assert (search.goal.initial_trial, search.goal.final_trial) == (0.1, 0.5)


@pytest.mark.parametrize(
    ("experiment", "timing", "kind", "goal"),
    [
        (THROUGHPUT, "lab", "mlrsearch", Goal(initial_trial=0.1, final_trial=0.1, duration_sum=0.5, exceed_ratio=0.5)),
        (RATE, "lab", "mlrsearch", Goal(trials=5, exceed_ratio=0.5)),
        ({"name": "c", "procedure": "table-capacity"}, "lab", "binary", None),
        (THROUGHPUT, "rfc", "binary", None),
        (RATE, "rfc", "binary", None),
    ],
)
def test_in_a_lab_one_trial_decides_nothing(
    experiment: dict[str, Any], timing: str, kind: str, goal: Goal | None
) -> None:
    search = {"min_rate": "10k", "max_rate": "1M", "error": "1%"}
    found = resolve(plan_of(experiment | {"timing": timing, "search": search})).experiments[0].search
    assert found is not None
    assert (found.kind, found.goal) == (kind, goal)


def test_a_goal_implies_an_mlrsearch_and_binary_stays_binary() -> None:
    plan = plan_of(THROUGHPUT | {"timing": "lab"}, kind="binary")
    search = resolve(plan).experiments[0].search
    assert search is not None
    assert (search.kind, search.goal) == ("binary", None)
    for timing in ("lab", "rfc"):
        search = resolve(plan_of(THROUGHPUT | {"timing": timing}, kind=None, goal="fast")).experiments[0].search
        assert search is not None
        assert search.goal is not None
        assert (search.kind, search.goal.exceed_ratio) == ("mlrsearch", 0)


def test_a_queue_does_not_pass_for_a_rate(tmp_path: Path) -> None:
    slow = {"driver": "simulated", "forwarding_fps": 40_000, "buffer_frames": 4096}
    search = {"min_rate": "1k", "max_rate": "400k", "error": "1%"}
    found = []
    for number, own in enumerate(({}, {"max_backlog": "99%"})):
        timing = {"preset": "lab"} | own
        plan = plan_of(THROUGHPUT | {"gateway": slow, "timing": timing, "search": search})
        _, run = measure(tmp_path / str(number), plan)
        found.append(run.experiments[0].values)
    limited, unlimited = found
    assert limited == [pytest.approx(20_000 * 1.04, rel=0.02)] * len(limited)
    assert min(unlimited) > 35_000


@pytest.mark.parametrize(
    ("experiment", "timing", "kind", "goal"),
    [
        (THROUGHPUT, "lab", None, Goal(initial_trial=0.1, final_trial=0.1, duration_sum=0.7, exceed_ratio=0.5)),
        (RATE, "lab", None, Goal(trials=7, exceed_ratio=0.5)),
        (THROUGHPUT, "rfc", None, Goal(initial_trial=60, final_trial=60, duration_sum=420, exceed_ratio=0)),
        (RATE, "lab", "mlrsearch", Goal(trials=7, exceed_ratio=0)),
    ],
)
def test_a_mapping_changes_parts_of_the_default_goal(
    experiment: dict[str, Any], timing: str, kind: str | None, goal: Goal
) -> None:
    plan = plan_of(experiment | {"timing": timing}, kind=kind, goal={"trials": 7})
    found = resolve(plan).experiments[0].search
    assert found is not None
    assert found.goal is not None
    assert found.goal.model_dump() == pytest.approx(goal.model_dump())


def test_the_goal_of_connection_rates_counts_trials(tmp_path: Path) -> None:
    plan = plan_of(RATE, goal={"trials": 3, "exceed_ratio": 0.4})
    _, run = measure(tmp_path / "run", plan)
    assert run.experiments[0].values == [pytest.approx(200_000, rel=0.005)] * 2
    rows = {row[0]: row[1] for row in results_tables.rfc_form(run)[0].rows}
    assert rows["Search"] == "MLRsearch, goal loss ratio 0, goal exceed ratio 0.4, 3 trials a rate"
    assert "up to 40 % of its 3 trials lose frames" in " ".join(each.text for each in caveats_of_plan(resolve(plan)))


def test_caveats_are_told() -> None:
    goal = {"preset": "fast", "final_trial": "1s", "duration_sum": "21s", "exceed_ratio": 0.5}
    told = " ".join(each.text for each in caveats_of_plan(resolve(plan_of(THROUGHPUT, goal=goal))))
    assert "The trials that decide on a rate last 1 s" in told
    assert "up to 50 % of its trial time lose frames" in told
    assert "decide on a rate" not in " ".join(
        each.text for each in caveats_of_plan(resolve(plan_of(THROUGHPUT, goal="fast")))
    )


@pytest.mark.parametrize(
    ("experiment", "search", "wrong"),
    [
        (THROUGHPUT, {"kind": "binary", "goal": "fast"}, "only `kind: mlrsearch` has a goal"),
        (THROUGHPUT, {"min_rate": "1M"}, "must be above min_rate"),
        (THROUGHPUT, {"error": "100%"}, "must be below 100 %"),
        (THROUGHPUT, {"goal": {"final_trial": "2s", "initial_trial": "3s"}}, "at least the one before, got 3 s, 2 s"),
        (RATE, {"goal": "fast"}, "as long as their connections take"),
        (RATE, {"goal": {"trials": 3, "final_trial": "1s"}}, "as long as their connections take"),
        (THROUGHPUT, {"goal": {"trials": 3, "duration_sum": "3s"}}, "either trials or duration_sum"),
        ({"name": "c", "procedure": "table-capacity"}, {}, "supports only a binary search"),
        ({"name": "c", "procedure": "ndr-pdr"}, {"kind": "binary"}, "two goals, which only an mlrsearch takes"),
        (
            {"name": "c", "procedure": {"name": "ndr-pdr", "partial_loss": "0.1%"}, "loss_tolerance": "0.1%"},
            {},
            "must be above the loss of the no drop rate, 0.1%; raise it",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(experiment: dict[str, Any], search: dict[str, Any], wrong: str) -> None:
    with pytest.raises((PlanProblems, ValueError), match=wrong):
        resolve(plan_of(experiment, **search))
