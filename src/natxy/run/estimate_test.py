# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.vm import VmConfig
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from natxy.published import published_table
from natxy.run.estimate import SET_UP_S, estimate_s, expected_steps, slowest_s

QUICKSTART = Path(__file__).parents[3] / "plans" / "quickstart.yaml"


def test_the_quickstart_takes_less_than_four_minutes() -> None:
    assert 60 < estimate_s(load_plan(QUICKSTART)) < 240


def test_a_reboot_before_every_step_makes_it_days() -> None:
    plan = load_plan(QUICKSTART.parent / "paper" / "pf-nat64-enumeration.yaml")
    steps = sum(experiment.repeat.at_most * expected_steps(experiment) for experiment in plan.experiments)
    assert estimate_s(plan) > max(2 * 86400, 120 * steps)


def test_trials_of_a_minute_take_their_minutes() -> None:
    search = {"min_rate": "1k", "max_rate": "1025k", "error": "1k"}
    experiment = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": search}
    plan = resolve(Plan.model_validate({"name": "p", "experiments": [experiment]}))
    assert estimate_s(plan) == pytest.approx(20 * 11 * (60 + 2 + 5 + 2), rel=0.01)


def test_virtual_time_takes_a_moment_for_each_step() -> None:
    search = {"kind": "binary", "min_rate": "1k", "max_rate": "1025k", "error": "1k"}
    experiment = {"name": "e", "gateway": "simulated", "procedure": "throughput", "search": search}
    whole = {"name": "p", "repeat": 3, "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    plan = resolve(Plan.model_validate(whole))
    assert estimate_s(plan) == pytest.approx(3 * 0.001 * expected_steps(plan.experiments[0]))
    assert estimate_s(plan, {"e": 5}) == pytest.approx(5 * 0.001 * expected_steps(plan.experiments[0]))


@pytest.mark.parametrize("name", ["iptables-tear-down", "jool-tear-down"])
def test_emptying_a_table_takes_about_as_long_as_was_published(name: str) -> None:
    plan, table = load_plan(QUICKSTART.parent / "paper" / f"{name}.yaml"), published_table(name)
    full_s = [float(row[table.columns.index("Full s median")]) for row in table.rows]
    for experiment, published_s in zip(plan.experiments, full_s, strict=True):
        assert experiment.connections
        assert experiment.gateway.clearing_s(experiment.connections) == pytest.approx(published_s, rel=0.25, abs=0.5)


def test_at_the_slowest_every_step_is_one_at_the_lowest_rate() -> None:
    search = {"min_rate": "10k", "max_rate": "1290k", "error": "10k"}
    rate = {"name": "rate", "procedure": "connection-rate", "connections": "1M", "search": search}
    phase2 = rate | {"name": "phase2", "procedure": "throughput", "phase1_rate": {"experiment": "rate", "percent": 50}}
    common = {"gateway": "nftables", "ports": {"source": "10000-10999", "destination": "1000-1999"}}
    plan = resolve(Plan.model_validate({"name": "p", "repeat": 2, "experiments": [rate | common, phase2 | common]}))
    cleared_s = 1e6 / 345_000
    assert slowest_s(plan, plan.experiments[0]) == pytest.approx(2 * 8 * (cleared_s + 100 + 2 + 5 + 2), rel=0.01)
    phase1_s = 200 + 4
    assert slowest_s(plan, plan.experiments[1]) == pytest.approx(
        2 * 8 * (cleared_s + phase1_s + 60 + 2 + 5 + 2), rel=0.01
    )
    assert sum(slowest_s(plan, each) for each in plan.experiments) > 1.3 * estimate_s(plan)


@pytest.mark.parametrize(
    ("written", "boots"),
    [
        ({}, 1),
        ({"experiments": [64, 128]}, 1),
        ({"experiments": [64, 9000], "order": "experiments"}, 2),
        ({"experiments": [64, 9000, 64], "order": "experiments"}, 3),
        ({"experiments": [64, 9000], "order": "blocks"}, 6),
        ({"experiments": [64, 128], "order": "blocks"}, 1),
    ],
)
def test_a_virtual_machine_boots_once_for_each_mtu(
    written: dict[str, Any], boots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = {"min_rate": "1k", "max_rate": "1025k", "error": "1k"}
    experiment = {"gateway": "linux-forward", "procedure": "throughput", "search": search}
    sizes = written.pop("experiments", [64])
    experiments = [experiment | {"name": f"e{n}", "frame_size": size} for n, size in enumerate(sizes)]
    whole = {"name": "p", "repeat": 3, "timing": "lab", "experiments": experiments} | written
    plan = resolve(Plan.model_validate(whole | {"testbed": {"kind": "vm"}}))
    with_boots_s = estimate_s(plan)
    monkeypatch.setattr(VmConfig, "build_s", 0.0)
    assert with_boots_s - estimate_s(plan) == pytest.approx(boots * 40)


@pytest.mark.parametrize(("gateways", "saved"), [(2, 2 * 9), (5, 0)])
def test_labs_that_stand_together_are_built_once(gateways: int, saved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    search = {"min_rate": "1k", "max_rate": "1025k", "error": "1k"}
    common = {"procedure": "connection-rate", "connections": 1000, "search": search}
    experiments = [
        common | {"name": f"e{timeout_s}", "gateway": {"driver": "nftables", "udp_timeout_s": 100 + timeout_s}}
        for timeout_s in range(gateways)
    ]
    whole = {"name": "p", "repeat": 10, "timing": "lab", "testbed": {"kind": "lab"}, "experiments": experiments}
    plan = resolve(Plan.model_validate(whole))
    together_s = estimate_s(plan)
    monkeypatch.setattr(LabConfig, "stand_together", False)
    assert estimate_s(plan) - together_s == pytest.approx(saved * SET_UP_S)
