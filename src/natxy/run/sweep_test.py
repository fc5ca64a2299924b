# SPDX-License-Identifier: Apache-2.0
"""Sweeps from the plan to the results, on the simulated engine: every cell finds the model's truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.events.listener import RunListener
from natxy.events.trials import TrialFinished
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.loading_test import load
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.run.folder import PLAN_FILE
from natxy.run.run import resume_plan, run_plan

PLAN = """\
name: swept
repeat: 2
timing: lab
testbed: {kind: simulated, noise: 0.02}
defaults:
  gateway:
    - {driver: simulated, forwarding_fps: 300k, connection_rate_fps: 90k}
    - {driver: simulated, forwarding_fps: 150k, connection_rate_fps: 30k}
  search: {min_rate: 1k, max_rate: 500k, error: 200}
experiments:
  - {name: forwarding, procedure: throughput, frame_size: [64, 512]}
  - {name: rate, procedure: connection-rate, connections: [20k, 50k]}
  - name: phase2
    procedure: throughput
    frame_size: [64, 512]
    connections: [50k, 20k]
    phase1_rate: {experiment: rate, percent: 50}
    baseline: forwarding
"""


def found(run: RunRecord) -> dict[str, tuple[State, list[float]]]:
    return {each.name: (each.state, each.values) for each in run.experiments}


def test_every_cell_finds_the_truth_of_its_gateway(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN.replace(", noise: 0.02", ""))
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    run = RunReader(tmp_path / "run").run
    assert len(run.experiments) == 4 + 4 + 8
    for experiment in run.experiments:
        assert experiment.statistics is not None
        fast = "300" in str(experiment.cell["gateway"])
        truth = {"fps": 150_000 if fast else 75_000, "cps": 90_000 if fast else 30_000}[experiment.unit]
        assert experiment.statistics.median == pytest.approx(truth, abs=210)
    for phase2 in (each for each in run.experiments if each.sweep == "phase2"):
        assert phase2.baseline is not None
        assert phase2.baseline.sweep == "forwarding"
        shared = ("frame_size", "gateway")
        assert [phase2.cell[field] for field in shared] == [phase2.baseline.cell[field] for field in shared]
        rates = {trial.rate_fps for trial in phase2.repetitions[0].trials if trial.kind == "phase1"}
        rate = next(
            each
            for each in run.experiments
            if each.sweep == "rate" and all(each.cell[field] == phase2.cell[field] for field in each.cell)
        )
        assert rate.statistics is not None
        assert [*rates] == [pytest.approx(rate.statistics.median / 2)]


class _Killed(RunListener):
    def __init__(self, trials: int) -> None:
        self._left = trials

    def trial_finished(self, event: TrialFinished) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_sweep_resumes_with_the_same_result(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN)
    assert run_plan(plan, tmp_path / "whole", RunListener()) == 0
    whole = RunReader(tmp_path / "whole").run
    trials = sum(len(repetition.trials) for each in whole.experiments for repetition in each.repetitions)
    folder = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, folder, _Killed(trials // 4))
    assert {each.state for each in RunReader(folder).run.experiments} == {State.PENDING, State.INTERRUPTED}
    with pytest.raises(KeyboardInterrupt):
        resume_plan(load_plan(folder / PLAN_FILE), folder, _Killed(trials // 3))
    assert {each.state for each in RunReader(folder).run.experiments} <= {State.DONE, State.INTERRUPTED}
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    assert found(RunReader(folder).run) == found(whole)


ROWS = """\
name: rows
repeat: 2
testbed: {kind: simulated}
defaults: {gateway: simulated, search: {min_rate: 1k, max_rate: 500k, error: 200}, procedure: throughput}
experiments:
  - name: ports
    sweep: [{ports: {source: 10000, destination: 7}}, {ports: {destination: 1-49151}}]
  - name: timing
    sweep: [{timing: {trial: 2s}, line_rate: 1Gbps}, {timing: {trial: 1s, drain: 1s}}]
"""


def test_a_sweep_whose_rows_leave_out_fields_resumes(tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        run_plan(load(tmp_path, ROWS), folder, _Killed(10))
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    assert {each.state for each in RunReader(folder).run.experiments} == {State.DONE}


def test_a_cell_that_fails_is_recorded_and_the_sweep_goes_on(tmp_path: Path) -> None:
    small = "connection_rate_fps: 90k, table_capacity: 30k, table_policy: collapse"
    text = PLAN.replace("connection_rate_fps: 90k", small)
    assert run_plan(load(tmp_path, text), tmp_path / "run", RunListener()) == 4
    run = RunReader(tmp_path / "run").run
    ended = {state: [each for each in run.experiments if each.state == state] for state in State}
    (broken,) = ended[State.FAILED]
    assert (broken.sweep, broken.cell["connections"]) == ("rate", 50_000)
    assert "collapsed" in broken.reason
    skipped = ended[State.SKIPPED]
    assert [each.sweep for each in skipped] == ["phase2", "phase2"]
    assert all(broken.name in each.reason for each in skipped)
    assert len(ended[State.DONE]) == 13
