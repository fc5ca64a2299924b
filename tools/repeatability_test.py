# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.events import RunListener
from natxy.run.run import run_plan
from tools.repeatability import apart, experiment_rows, run_rows


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
    assert (router[0], router[2], router[3]) == ("| router", "±0.0 %", "–")
    assert (nat[0], nat[2], nat[4]) == ("| nat", "±11.1 %", "±11.1 % |")
    assert [round(float(share.split()[0])) for share in nat[3].split(", ")] == [50, 40]
