# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.events.listener import RunListener
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.results.trials import Purpose
from natxy.run.run import run_plan


def measure(
    folder: Path, connections: int, gateway: dict[str, Any], repeat: int = 1, code: int = 0
) -> list[RepetitionRecord]:
    experiment = {
        "name": "tear-down",
        "procedure": "tear-down-rate",
        "connections": connections,
        "phase1_rate": "10k",
        "gateway": {"driver": "simulated"} | gateway,
        "repeat": repeat,
    }
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) == code
    return RunReader(folder).run.experiments[0].repetitions


@settings(max_examples=60, deadline=None)
@given(
    connections=st.integers(min_value=1, max_value=1_000_000),
    rate=st.floats(min_value=100, max_value=1e7),
    clear_s=st.just(0.0) | st.floats(1e-9, 2),
)
def test_the_empty_tables_time_is_subtracted(connections: int, rate: float, clear_s: float) -> None:
    gateway = {"tear_down_rate": rate, "clear_time": clear_s, "connection_rate_fps": 20_000}
    with TemporaryDirectory() as folder:
        figures = measure(Path(folder) / "run", connections, gateway)[0].figures
    assert figures["empty"] == pytest.approx(clear_s)
    assert figures["net"] == pytest.approx(connections / rate, abs=1e-12)
    assert figures["full"] == pytest.approx(clear_s + connections / rate)
    assert figures["rate"] == pytest.approx(rate, rel=1e-4)


def test_connections_are_only_prepared_and_each_repetition_loads_anew(tmp_path: Path) -> None:
    repetitions = measure(tmp_path / "run", 5000, {}, repeat=3)
    assert [[(t.purpose, t.received) for t in r.trials] for r in repetitions] == [[(Purpose.PREPARE, 5000)]] * 3
    assert [r.value for r in repetitions] == pytest.approx([1e6] * 3)


@pytest.mark.parametrize(
    ("gateway", "reason"),
    [
        ({"table_capacity": 3999}, "failed in 3 of 3 attempts"),
        ({"table_capacity": 3000, "table_policy": "early-drop"}, "the table held only 3,000 of the 4,000"),
    ],
)
def test_without_a_full_table_there_is_no_rate(tmp_path: Path, gateway: dict[str, Any], reason: str) -> None:
    repetition = measure(tmp_path / "run", 4000, gateway, code=4)[0]
    assert repetition.value is None
    assert repetition.figures["rate"] is None
    assert reason in repetition.reason


@pytest.mark.parametrize(
    ("full_s", "empties_s", "reason"),
    [
        (0.01, [0.01] * 5, "took 10 ms, and 5 times the empty one took 10 ms"),
        (0.220, [0.217, 0.215, 0.217, 0.219, 0.218], "took 220 ms, and 5 times the empty one took 215 ms to 219 ms"),
    ],
)
def test_a_difference_within_what_an_empty_table_varies_gives_no_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_s: float, empties_s: list[float], reason: str
) -> None:
    times = iter([full_s, *empties_s])
    monkeypatch.setattr(SimulatedGateway, "timed_clear", lambda _: next(times))
    repetition = measure(tmp_path / "run", 4000, {}, code=4)[0]
    assert (repetition.value, repetition.figures["rate"]) == (None, None)
    assert (repetition.figures["full"], repetition.figures["empty"]) == (full_s, statistics.median(empties_s))
    assert reason in repetition.reason
    assert "raise `connections`" in repetition.reason


def test_a_difference_of_several_times_the_spread_gives_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.240, 0.217, 0.215, 0.217, 0.219, 0.218])
    monkeypatch.setattr(SimulatedGateway, "timed_clear", lambda _: next(times))
    repetition = measure(tmp_path / "run", 4000, {})[0]
    assert repetition.value == pytest.approx(4000 / 0.023)


def test_its_rate_is_none_to_establish_connections_at() -> None:
    common = {"gateway": {"driver": "simulated"}, "connections": 1000}
    tear_down = common | {"name": "a", "procedure": "tear-down-rate", "phase1_rate": "1k"}
    share = common | {"name": "b", "procedure": "tear-down-rate", "phase1_rate": {"experiment": "a", "percent": 50}}
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "experiments": [tear_down, share]}
    with pytest.raises(
        PlanProblems,
        match="'a' is no earlier connection-rate or validated-connection-rate or tcp-connection-rate experiment",
    ):
        resolve(Plan.model_validate(plan))
