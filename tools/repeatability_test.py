# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.analysis.core_speed_test import at_speeds
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.events import RunListener
from natxy.run.run import run_plan
from tests.support.repetitions import experiment, trial
from tests.support.sample_runs import result
from tools.repeatability import apart, experiment_rows, run_rows, with_speed


@pytest.mark.parametrize(
    ("values", "expected"), [([], "–"), ([1.0], "–"), ([0.0, 0.0], "–"), ([95.0, 100.0, 110.0], "±10.0 %")]
)
def test_runs_are_as_far_apart_as_the_farthest_from_the_middle(values: list[float], expected: str) -> None:
    assert apart(values) == expected


def test_each_run_and_each_experiment_has_a_row(tmp_path: Path) -> None:
    runs = []
    for number, nat_fps in enumerate((50e3, 40e3)):
        experiments = [
            {"name": name, "gateway": {"driver": "simulated", "forwarding_fps": rate_fps}, "procedure": "throughput",
             "search": {"min_rate": "1k", "max_rate": "200k", "error": "0.1%"}, **more}
            for name, rate_fps, more in (("router", 100e3, {}), ("nat", nat_fps, {"baseline": "router"}))
        ]  # fmt: skip
        plan = {"name": "p", "repeat": 1, "testbed": {"kind": "simulated"}, "experiments": experiments}
        run_plan(resolve(Plan.model_validate(plan)), tmp_path / str(number), RunListener())
        runs.append(RunReader(tmp_path / str(number)).run)
    assert [row.split(" | ")[0] for row in run_rows(runs)][2:] == ["| 1", "| 2"]
    router, nat = [row.split(" | ") for row in experiment_rows(runs)][2:]
    assert (router[0], router[2], router[4]) == ("| router", "±0.0 %", "–")
    assert (nat[0], nat[2], nat[5]) == ("| nat", "±11.1 %", "±11.1 % |")
    assert [round(float(share.split()[0])) for share in nat[4].split(", ")] == [50, 40]


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
