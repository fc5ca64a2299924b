# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.analysis.core_speed_test import at_speeds
from natxy.results.analysis.disturbances import Absences
from natxy.results.analysis.ratios import Ratio
from natxy.results.bounded import Bound
from natxy.results.intervals import Interval
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState
from natxy.run.run import run_plan
from tests.support.repetitions import experiment
from tests.support.sample_runs import result, trial
from tools.repeatability import Goal, apart, away, experiment_rows, goal_rows, run_rows, with_speed


@pytest.mark.parametrize(
    ("values", "expected"), [([], "–"), ([1.0], "–"), ([0.0, 0.0], "–"), ([95.0, 100.0, 110.0], "±10.0 %")]
)
def test_runs_are_as_far_apart_as_the_farthest_from_the_middle(values: list[float], expected: str) -> None:
    assert apart(values) == expected


@pytest.fixture
def runs(tmp_path: Path) -> list[RunRecord]:
    """Returns two runs in which a NAT has 50 % and 40 % of the router's rate."""
    found = []
    for number, nat_fps in enumerate((50e3, 40e3)):
        experiments = [
            {"name": name, "gateway": {"driver": "simulated", "forwarding_fps": rate_fps}, "procedure": "throughput",
             "search": {"min_rate": "1k", "max_rate": "200k", "error": "0.1%"}, **more}
            for name, rate_fps, more in (("router", 100e3, {}), ("nat", nat_fps, {"baseline": "router"}))
        ]  # fmt: skip
        plan = {"name": "p", "repeat": 1, "testbed": {"kind": "simulated"}, "experiments": experiments}
        run_plan(resolve(Plan.model_validate(plan)), tmp_path / str(number), RunListener())
        found.append(RunReader(tmp_path / str(number)).run)
    return found


def test_each_run_and_each_experiment_has_a_row(runs: list[RunRecord]) -> None:
    assert [row.split(" | ")[:2] for row in run_rows(runs)][2:] == [["| 1", "complete"], ["| 2", "complete"]]
    router, nat = [row.split(" | ") for row in experiment_rows(runs)][2:]
    assert (router[0], router[2], router[4]) == ("| router", "±0.0 %", "–")
    assert (nat[0], nat[2], *nat[5:]) == ("| nat", "±11.1 %", "±11.1 %", "– |")
    assert [round(float(share.split()[0])) for share in nat[4].split(", ")] == [50, 40]


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal(minutes=60, ratios=12, medians=12), True),
        (Goal(ratios=11), False),
        (Goal(medians=11), False),
        (Goal(minutes=0), False),
        (Goal(ratios=12, capacity=1000), False),
    ],
)
def test_a_goal_is_met_within_all_its_limits(runs: list[RunRecord], goal: Goal, met: bool) -> None:
    assert [*goal_rows(runs, goal)][-1] == f"| goal |  |  | {'met' if met else 'missed'} |"


@pytest.mark.parametrize(("limit", "met"), [(5.1, "met"), (4.9, "missed")])
def test_the_widest_interval_of_a_ratio_counts(
    runs: list[RunRecord], limit: float, met: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratio = Ratio(0.5, Bound.EXACTLY, Interval(0.48, 0.53))
    monkeypatch.setattr(ExperimentRecord, "baseline_ratio", property(lambda own: ratio if own.baseline else None))
    assert [*goal_rows(runs, Goal(precision=limit))][3] == f"| intervals of ratios | ±{limit:g} % | ±5.0 % | {met} |"


def test_without_limits_there_is_no_goal(runs: list[RunRecord]) -> None:
    assert [*goal_rows(runs, Goal())] == []


@pytest.mark.parametrize("state", [RunState.INTERRUPTED, RunState.FAILED])
def test_a_run_that_did_not_end_misses_the_goal(runs: list[RunRecord], state: RunState) -> None:
    rows = [*goal_rows([runs[0], replace(runs[1], state=state)], Goal(ratios=12))]
    assert rows[2] == "| runs with all results | 2 | 1 | missed |"
    assert rows[-1].endswith("missed |")


def test_capacities_are_to_be_exact(runs: list[RunRecord]) -> None:
    tables = [
        replace(run, experiments=[experiment([value], procedure="table-capacity")])
        for run, value in zip(runs, (16384.0, 16383.0), strict=True)
    ]
    assert [*goal_rows(tables, Goal(capacity=16384))][3] == "| capacities | 16,384 | 1 of 2 | missed |"
    assert [*goal_rows(tables[:1], Goal(capacity=16384))][3] == "| capacities | 16,384 | 1 of 1 | met |"


def test_steal_and_run_delay_are_apart() -> None:
    assert away(Absences(2, 10.0, 3.0, 2.0, stolen_s=1.0, delayed_s=2.0)) == ["10.0 %", "20.0 %"]
    assert away(Absences(2, 10.0, 3.0, 2.0)) == ["–", "–"]
    assert away(None) == ["–", "–"]


def test_results_that_follow_the_speed_of_the_core_correlate_with_it() -> None:
    assert with_speed(measured([(1e5, 1e6), (2e5, 1.5e6), (3e5, 1.6e6)])) == "+1.00"
    assert with_speed(measured([(3e5, 1e6), (2e5, 1.5e6), (1e5, 1.6e6)])) == "-1.00"
    assert with_speed(measured([(1e5, None), (2e5, None), (3e5, None)])) == "–"


def measured(results: list[tuple[float, float | None]]) -> list[RepetitionRecord]:
    """Returns repetitions with these results, in whose trials the gateway's core had these speeds."""
    trials = {
        number: [at_speeds((1, speed, speed)) if speed else trial(result(1e5, Verdict.PASS))]
        for number, (_, speed) in enumerate(results, 1)
    }
    return experiment([value for value, _ in results], trials=trials).repetitions
