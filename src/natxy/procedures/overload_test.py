# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.events.listener import RunListener
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan

NAT = {"connections": "5k", "phase1_rate": "50k"}


def plan_of(own: dict[str, Any], gateway: dict[str, Any]) -> Plan:
    experiment = {
        "name": "overload",
        "procedure": "overload",
        "gateway": {"driver": "simulated"} | gateway,
        "search": {"min_rate": 100, "max_rate": "2M", "error": "0.1%"},
        "repeat": 2,
    }
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": [experiment | own]}
    return Plan.model_validate(plan)


def measure(folder: Path, own: dict[str, Any], gateway: dict[str, Any]) -> tuple[int, RunRecord]:
    code = run_plan(resolve(plan_of(own, gateway)), folder, RunListener())
    return code, RunReader(folder).run


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
@pytest.mark.parametrize("stateful", [False, True])
@settings(max_examples=15, deadline=None)
@given(
    flows=st.integers(min_value=2, max_value=40_000),
    forwarding_fps=st.floats(min_value=20_000, max_value=3e6),
    degradation=st.floats(min_value=0, max_value=95),
)
def test_what_many_flows_cost(kind: str, stateful: bool, flows: int, forwarding_fps: float, degradation: float) -> None:
    cost = (1 / (1 - degradation / 100) - 1) / (flows - 1)
    own = {"connections": flows, "phase1_rate": "1k"} if stateful else {"flows": flows}
    search = {"kind": kind, "min_rate": 100, "max_rate": "2M", "error": "0.1%"}
    with TemporaryDirectory() as folder:
        gateway = {"forwarding_fps": forwarding_fps, "flow_cost": cost}
        code, run = measure(Path(folder) / "run", own | {"search": search}, gateway)
    repetition = run.experiments[0].repetitions[0]
    assert code == 0
    assert repetition.figures["single"] == pytest.approx(forwarding_fps / 2, rel=0.002, abs=3)
    assert repetition.figures["many"] == pytest.approx(forwarding_fps / 2 * (1 - degradation / 100), rel=0.002, abs=3)
    assert repetition.value == pytest.approx(degradation, abs=0.5)
    assert [step.number for step in repetition.steps] == [*range(1, len(repetition.steps) + 1)]


def test_where_the_search_ends_the_degradation_is_a_bound(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", {"flows": 1001}, {"forwarding_fps": "8M", "flow_cost": 0.003})
    assert results_tables.overview(run)[0].rows[0][1].startswith("≥50")
    repetition = run.experiments[0].repetitions[0]
    assert repetition.figures["single"] == 2e6
    assert repetition.reason == "one flow: at least this: the search's highest rate passed"


@pytest.mark.parametrize("highest", ["100%", "119_047.619"])
def test_the_line_rate_is_no_bound(tmp_path: Path, highest: str) -> None:
    # 10 MB/s of 64 bytes and 20 of gap.
    line = {"line_rate": "80Mbps", "search": {"min_rate": 1000, "max_rate": highest, "error": 1000}}
    code, run = measure(tmp_path / "run", {"flows": 101, "repeat": 1} | line, {"forwarding_fps": 1e6, "flow_cost": 0.1})
    repetition = run.experiments[0].repetitions[0]
    found = repetition.figures
    assert code == 0
    assert found["single"] == pytest.approx(119_047.6, abs=0.1)
    assert found["degradation"] == pytest.approx(100 * (1 - (found["many"] or 0) / 119_047.6), abs=0.01)
    assert (repetition.lower_bound, repetition.upper_bound) == (None, None)
    assert repetition.reason == "one flow: the line rate: the theoretical maximum passed"


def test_many_flows_faster_than_the_search_say_nothing(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", {"flows": 10}, {"forwarding_fps": "80M"})
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.figures["many"]) == (None, 2e6)
    assert repetition.reason.endswith("all flows: at least this: the search's highest rate passed")


def test_one_flow_that_no_rate_passes_is_no_degradation(tmp_path: Path) -> None:
    # 50 fps in each direction are below the search's lowest rate.
    _, run = measure(tmp_path / "run", {"flows": 10}, {"forwarding_fps": 100})
    repetition = run.experiments[0].repetitions[0]
    assert repetition.figures == {"degradation": None, "single": 0, "many": None}
    assert (repetition.lower_bound, repetition.upper_bound) == (None, 100)
    assert repetition.reason.startswith("one flow: no rate passed, not even the search's lowest")


@pytest.mark.parametrize("own", [{"flows": 10}, NAT])
def test_a_gateway_that_forwards_nothing_failed(tmp_path: Path, own: dict[str, Any]) -> None:
    code, run = measure(tmp_path / "run", own, {"forward_loss_ratio": 1, "reverse_loss_ratio": 1})
    assert code == 4
    assert run.experiments[0].reason.startswith("the gateway forwards nothing")


@pytest.mark.parametrize(
    ("own", "wrong"),
    [
        ({}, "overload needs at least 2 flows"),
        ({"flows": 1}, "overload needs at least 2 flows"),
        ({"flows": 10} | NAT, "remove one of the two"),
        ({"flows": 10, "ports": {"source": "1000-1019"}}, "give 20 four-tuples, not 10"),
        ({"flows": 10, "addresses": "multiple"}, "four-tuples, not 10"),
    ],
)
def test_what_makes_no_sense_is_refused(own: dict[str, Any], wrong: str) -> None:
    with pytest.raises(PlanProblems, match=wrong):
        resolve(plan_of(own, {}))


def test_flows_may_come_from_addresses() -> None:
    hosts = {"left_hosts": {"first": "198.18.0.2", "last": "198.18.0.21"}}
    ports = {"source": 5000, "destination": 6000}
    experiment = resolve(plan_of({"flows": 20, "addresses": hosts, "ports": ports}, {})).experiments[0]
    assert experiment.flow_space_size == 20
    assert experiment.with_one_flow().flow_space_size == 1
