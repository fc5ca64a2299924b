# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.events.listener import RunListener
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading_test import load
from natxy.results.reader import RunReader
from natxy.run.cores import check_cores
from natxy.run.run import run_plan

PLAN = """\
name: scale-up
repeat: 2
timing: lab
testbed: {kind: simulated, dut_cores: 8}
defaults:
  gateway: {driver: simulated, forwarding_fps: 200k, connection_rate_fps: 50k, core_efficiency: 0.75}
  cores: [1, 2, 8]
  search: {min_rate: 1k, max_rate: 1M, error: 200}
experiments:
  - {name: forwarding, procedure: throughput}
  - {name: rate, procedure: connection-rate, connections: 50k}
"""


def scale_up(tmp_path: Path, old: str = "", new: str = "") -> ResolvedPlan:
    return load(tmp_path, PLAN.replace(old, new))


def test_the_scale_up_of_a_sweep_over_cores_is_the_models(tmp_path: Path) -> None:
    assert run_plan(scale_up(tmp_path), tmp_path / "run", RunListener()) == 0
    experiments = RunReader(tmp_path / "run").run.experiments
    for name, one_core in (("forwarding", 100_000), ("rate", 50_000)):
        cells = [each for each in experiments if each.sweep == name]
        assert [each.cell for each in cells] == [{"cores": 1}, {"cores": 2}, {"cores": 8}]
        found = [each.statistics.median for each in cells if each.statistics]
        truth = [one_core * (1 + 0.75 * (cores - 1)) for cores in (1, 2, 8)]
        assert found == pytest.approx(truth, abs=210)


def test_without_cores_a_gateway_uses_all_it_has(tmp_path: Path) -> None:
    plan = scale_up(tmp_path, "  cores: [1, 2, 8]\n", "")
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    summary = RunReader(tmp_path / "run").experiment("rate").statistics
    assert summary is not None
    assert summary.median == pytest.approx(50_000 * 6.25, abs=210)


def test_jool_takes_cores_on_its_own_machine_but_not_in_a_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = "gateway: {driver: jool, kernel: user-mode}\n  translation: nat64\n"
    there = "kind: hardware, left: {interface: a}, right: {interface: b}, dut: {ssh: root@dut, left: c, right: d}"
    plan = PLAN.replace(
        "  gateway: {driver: simulated, forwarding_fps: 200k, connection_rate_fps: 50k, core_efficiency: 0.75}\n",
        f"  {gateway}",
    )
    plan = plan.replace("procedure: throughput", "procedure: throughput, connections: 50k, phase1_rate: 1k")
    check_cores(load(tmp_path, plan.replace("kind: simulated, dut_cores: 8", there).replace(", kernel: user-mode", "")))
    monkeypatch.setattr("natxy.run.cores.runs_in_guest", lambda gateway: True)
    with pytest.raises(PlanError, match="jool runs in user-mode Linux here, which has one virtual CPU; remove `cores`"):
        check_cores(load(tmp_path, plan.replace("kind: simulated, dut_cores: 8", "kind: lab")))


def test_too_few_cores_are_an_error_before_measuring(tmp_path: Path) -> None:
    check_cores(scale_up(tmp_path))
    with pytest.raises(PlanError, match=r"^forwarding/cores=8 asks for 8 of .* but this testbed has 4 for it"):
        check_cores(scale_up(tmp_path, "dut_cores: 8", "dut_cores: 4"))


def test_a_lab_gives_as_many_cores_as_the_plan_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """\
        name: lab
        experiments:
          - {name: forwarding, gateway: linux-forward, procedure: throughput, cores: [1, 3], search: {max_rate: 1M}}
        """
    plan = load(tmp_path, text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    check_cores(plan)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(PlanError, match=r"^forwarding/cores=3 asks for 3 of .* but this testbed has 1 for it"):
        check_cores(plan)


HARDWARE = """\
name: hardware
testbed:
  kind: hardware
  left: {pci: "0000:41:00.0"}
  right: {pci: "0000:41:00.1"}
  dut: {ssh: root@dut.lab, left: eth1, right: eth2}
experiments:
  - {name: forwarding, gateway: linux-forward, procedure: throughput, cores: [1, 16], search: {max_rate: 1M}}
"""


def test_cores_behind_ssh_are_counted_when_the_dut_is_set_up(tmp_path: Path) -> None:
    check_cores(load(tmp_path, HARDWARE))
    with pytest.raises(PlanError, match="the cores of linux-forward cannot be set on this testbed"):
        check_cores(load(tmp_path, HARDWARE.replace("ssh: root@dut.lab, ", "")))


def test_a_command_gateway_needs_commands_for_its_cores(tmp_path: Path) -> None:
    for place in (HARDWARE, HARDWARE.replace("ssh: root@dut.lab, ", "")):
        with pytest.raises(PlanError, match="no commands for `cores`; give it `set_cores`"):
            check_cores(load(tmp_path, place.replace("linux-forward", "{driver: command}")))
        own = "{driver: command, set_cores: [[./boot-with, '{cores}']]}"
        check_cores(load(tmp_path, place.replace("linux-forward", own)))
