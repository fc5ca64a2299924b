# SPDX-License-Identifier: Apache-2.0
"""Tests procedures over several pairs of interfaces together, in virtual time (RFC 8219 §10)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import PlanError
from natxy.events.listener import RunListener
from natxy.plan.yaml.loading_test import load
from natxy.report.tables.sweep import sweep_tables
from natxy.results.analysis.sweeps import computed
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.results.trials import TrialKind
from natxy.run.run import run_plan

PLAN = """
name: pairs
timing: lab
testbed: {kind: simulated}
repeat: 2
experiments:
  - name: pairs
    gateway: {driver: simulated, forwarding_fps: 600k}
    procedure: throughput
    pairs: [1, 2, 3]
    search: {kind: binary, min_rate: 1k, max_rate: 1M, error: 100}
"""
NAT = PLAN + "    connections: 300\n    phase1_rate: 10k\n"


def measured(folder: Path, text: str) -> RunRecord:
    assert run_plan(load(folder, text), folder / "run", RunListener()) == 0
    return RunReader(folder / "run").run


@pytest.mark.parametrize(
    "text", [PLAN, NAT, PLAN.replace("binary", "mlrsearch")], ids=["stateless", "nat", "mlrsearch"]
)
def test_all_pairs_together_have_what_the_gateway_forwards(tmp_path: Path, text: str) -> None:
    run = measured(tmp_path, text)
    for experiment in run.experiments:
        assert experiment.statistics is not None
        assert experiment.statistics.median == pytest.approx(300_000, rel=0.01)
        trials = [trial for _, _, trial in experiment.all_trials if trial.kind == TrialKind.TRAFFIC]
        assert {len(trial.result.streams) for trial in trials} == {2 * (experiment.planned.pairs or 0)}
    degradations = [found.degradation for found in computed(run).values()]
    assert [ratio and ratio.value for ratio in degradations] == [pytest.approx(0, abs=0.01)] * 3


def test_a_phase_1_of_all_pairs_precedes_each_trial(tmp_path: Path) -> None:
    run = measured(tmp_path, NAT)
    for experiment in run.experiments:
        kinds = Counter(
            (trial.number, trial.kind) for _, repetition, trial in experiment.all_trials if repetition.number == 1
        )
        steps = {number for number, _ in kinds}
        assert all(kinds[number, TrialKind.PHASE1] == kinds[number, TrialKind.TRAFFIC] == 1 for number in steps)
        pairs = experiment.planned.pairs or 0
        for _, _, trial in experiment.all_trials:
            if trial.kind == TrialKind.PHASE1:
                rates_fps = [stream.intended_rate_fps for stream in trial.result.streams]
                assert rates_fps == [pytest.approx(10_000 / pairs)] * pairs


def test_the_loss_of_each_pair_is_recorded(tmp_path: Path) -> None:
    run = measured(tmp_path, PLAN)
    failed = [trial for _, _, trial in run.experiments[2].all_trials if trial.verdict == "fail"]
    lost: dict[str, Any] = {stream.name: stream.lost for stream in failed[0].result.streams}
    assert list(lost) == ["forward", "reverse", "forward 2", "reverse 2", "forward 3", "reverse 3"]
    assert all(lost.values())


def test_the_frame_loss_is_that_of_all_pairs(tmp_path: Path) -> None:
    search, step = (
        "    search: {kind: binary, min_rate: 1k, max_rate: 1M, error: 100}\n",
        "{name: frame-loss-rate, maximum_rate: 400k}",
    )
    run = measured(tmp_path, PLAN.replace(search, "").replace("procedure: throughput", f"procedure: {step}"))
    for experiment in run.experiments:
        found = experiment.repetitions[0]
        assert found.value == 280_000
        for direction in ("forward", "reverse"):
            assert found.figures[f"loss_at_maximum_{direction}"] == pytest.approx(25, abs=0.1)
        assert len(found.curves) == 2 * (experiment.planned.pairs or 0)


@pytest.mark.parametrize("procedure", ["{name: latency, tagged_frames: 100}", "single-tag-latency", "pdv", "ipdv"])
def test_delays_are_those_of_all_pairs(tmp_path: Path, procedure: str) -> None:
    """The rate is that of the throughput with as many pairs, of which each has an equal part."""
    delays = f"""
  - name: delays
    gateway: {{driver: simulated, forwarding_fps: 600k, forward_delay_ns: 1000, reverse_delay_ns: 50000}}
    procedure: {procedure}
    rate: {{experiment: pairs, percent: 50}}
    pairs: [1, 2, 3]
"""
    of_delays = [each for each in measured(tmp_path, PLAN + delays).experiments if each.planned.rate]
    assert [each.planned.pairs for each in of_delays] == [1, 2, 3]
    for experiment in of_delays:
        pairs = experiment.planned.pairs or 0
        found = experiment.repetitions[0]
        [trial] = found.trials
        assert len(trial.result.streams) == 2 * pairs
        for stream in trial.result.streams:
            assert stream.intended_rate_fps == pytest.approx(150_000 / pairs, rel=0.01)
        measured_figures = {name: value for name, value in found.figures.items() if "lost" not in name}
        assert measured_figures
        assert all(value is not None for value in measured_figures.values())
        assert len(found.curves) in {0, 2 * pairs}


def test_the_report_compares_with_the_fewest_pairs(tmp_path: Path) -> None:
    wide, common = sweep_tables(measured(tmp_path, PLAN))
    assert [column.title for column in wide.columns] == ["Pairs of interfaces", "1", "2", "3"]
    rows = {row[0]: row[1:] for row in wide.rows}
    assert [cell.split()[0] for cell in rows["Degradation"]] == ["0.0", "0.0", "0.0"]
    assert not any("pairs" in row[0].lower() for row in (*wide.rows, *common.rows))


@pytest.mark.parametrize("policy", ["keep", "lru"])
@pytest.mark.parametrize("shortcut", ["", ", shortcut: validation-answers"])
def test_the_capacity_is_that_of_the_connections_of_all_pairs(tmp_path: Path, policy: str, shortcut: str) -> None:
    capacity = f"""
name: pairs
timing: lab
testbed: {{kind: simulated}}
repeat: 1
experiments:
  - name: capacity
    gateway: {{driver: simulated, table_capacity: 12347, table_policy: {policy}}}
    procedure: {{name: table-capacity, initial_connections: 1k, max_connections: 100k{shortcut}}}
    pairs: [1, 2, 3]
    search: {{kind: binary, min_rate: 1k, max_rate: 100k, error: 1k}}
"""
    for experiment in measured(tmp_path, capacity).experiments:
        assert [repetition.value for repetition in experiment.repetitions] == [12347]
        kinds = Counter((trial.number, trial.attempt, trial.kind) for _, _, trial in experiment.all_trials)
        assert set(kinds.values()) == {experiment.planned.pairs}


@pytest.mark.parametrize("procedure", ["connection-rate", "validated-connection-rate"])
def test_the_connection_rate_is_that_of_all_pairs(tmp_path: Path, procedure: str) -> None:
    text = PLAN.replace("throughput", procedure).replace("forwarding_fps: 600k", "connection_rate_fps: 40k")
    run = measured(tmp_path, text.replace("min_rate: 1k", "min_rate: 10k") + "    connections: 5000\n")
    for experiment in run.experiments:
        assert [repetition.value for repetition in experiment.repetitions] == [pytest.approx(40_000, abs=100)] * 2
        pairs = experiment.planned.pairs or 0
        for _, _, trial in experiment.all_trials:
            assert [stream.planned for stream in trial.result.streams] == [5000] * pairs
            rates_fps = [stream.intended_rate_fps for stream in trial.result.streams]
            assert rates_fps == [pytest.approx(trial.rate_fps / pairs)] * pairs
        of_steps = Counter(
            (repetition.number, trial.number, trial.kind) for _, repetition, trial in experiment.all_trials
        )
        assert set(of_steps.values()) == {1}


def test_a_table_is_torn_down_with_the_connections_of_all_pairs(tmp_path: Path) -> None:
    tear_down = f"""{PLAN.split("    procedure")[0]}    procedure: tear-down-rate
    pairs: [1, 3]
    connections: 5000
    phase1_rate: 10k
"""
    gateway = "{driver: simulated, tear_down_rate: 100k, connection_rate_fps: 20k}"
    run = measured(tmp_path, tear_down.replace("{driver: simulated, forwarding_fps: 600k}", gateway))
    for experiment in run.experiments:
        for repetition in experiment.repetitions:
            assert repetition.value == pytest.approx(100_000)
            assert repetition.figures["net"] == pytest.approx(5000 * (experiment.planned.pairs or 0) / 100_000)


def test_pairs_have_a_connection_each(tmp_path: Path) -> None:
    capacity = PLAN.replace("throughput", "{name: table-capacity, initial_connections: 2}")
    with pytest.raises(PlanError, match="the 3 pairs of interfaces share the connections"):
        load(tmp_path, capacity)
