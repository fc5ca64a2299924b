# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.campaign.jobs.duration import duration_s, machines_of, shared
from natxy.campaign.jobs.jobs import jobs_of
from natxy.campaign.jobs.loading import load_campaign
from natxy.errors import PlanError

PLAN = """
name: p
repeat: 2
defaults: {search: {min_rate: 1k, max_rate: 9k, error: 1k}, procedure: throughput}
experiments:
  - {name: a, gateway: linux-forward}
"""
CAMPAIGN = """
name: night
testbeds:
  one: {testbed: {kind: lab, tester_cores: 0, dut_cores: 0}, same_hardware: alike}
  two: {testbed: {kind: lab}, same_hardware: alike}
  far: {testbed: {kind: lab}, tester: root@far}
runs:
  - {name: x, plan: p.yaml, on: [one, far], overrides: {repeat: 3, defaults: {search: {max_rate: 5k}}}}
  - {name: y, plan: p.yaml, on: [alike], prepare: [[modprobe, x]], after: [x], priority: 7}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "p.yaml").write_text(PLAN)
    path = tmp_path / "c.yaml"
    path.write_text(CAMPAIGN)
    return path


def test_a_job_is_a_run_at_a_place_with_the_plan_of_each_testbed_that_can_take_it(file: Path) -> None:
    x, far, y = jobs_of(load_campaign(file), file)
    assert [(each.key, each.testbeds, each.priority) for each in (x, far, y)] == [
        ("x/one", ("one", "two"), 0), ("x/far", ("far",), 0), ("y/alike", ("one", "two"), 7),
    ]  # fmt: skip
    assert y.prepare == [["modprobe", "x"]]
    assert y.after == {"x"}
    assert [str(x.folder("one")), str(x.folder("two")), str(y.folder("two"))] == [
        "runs/x/one", "runs/x/one@two", "runs/y/alike@two",
    ]  # fmt: skip
    assert [plan.testbed.model_dump()["tester_cores"] for plan in x.plans.values()] == [[0], None]
    (experiment,) = x.plans["one"].experiments
    assert experiment.search
    assert (experiment.repeat.at_most, experiment.search.min_rate, experiment.search.max_rate) == (3, 1000, 5000)
    assert y.plans["one"].experiments[0].repeat.at_most == 2


def test_a_campaign_takes_as_long_as_its_slowest_testbed(file: Path) -> None:
    x, far, y = jobs_of(load_campaign(file), file)
    apart = {name: name for name in ("one", "two", "far")}
    assert duration_s([x, far], apart) == pytest.approx(x.estimate_s)
    assert duration_s([x, far, y], apart) == pytest.approx(x.estimate_s + y.estimate_s)
    assert duration_s([x, far, y], apart, done=frozenset({x.key, far.key})) == pytest.approx(y.estimate_s)


def test_testbeds_with_the_same_cores_or_gateway_measure_one_after_the_other(file: Path) -> None:
    dut = "dut: {ssh: root@dut, left: eth1, right: eth2}"
    hardware = f"testbed: {{kind: hardware, left: {{interface: a}}, right: {{interface: b}}, {dut}}}"
    testbeds = {
        "one": "testbed: {kind: lab}",
        "two": "testbed: {kind: lab, tester_cores: [1], dut_cores: 1}",
        "cores": "testbed: {kind: lab, tester_cores: [2], dut_cores: 1}",
        "far": "testbed: {kind: lab}, tester: root@far",
        "port": "testbed: {kind: lab}, tester: {ssh: {host: far, port: 2222}}",
        "near-hardware": hardware,
        "far-hardware": f"{hardware}, tester: root@other",
    }
    written = "\n".join(f"  {name}: {{{testbed}}}" for name, testbed in testbeds.items())

    sharing: dict[tuple[str, ...], list[str]] = {}

    def duration_of(*names: str) -> float:
        file.write_text(f"name: n\ntestbeds:\n{written}\nruns: [{{name: x, plan: p.yaml, on: [{', '.join(names)}]}}]")
        campaign = load_campaign(file)
        jobs = jobs_of(campaign, file)
        sharing.clear()
        sharing.update(shared(jobs, machines_of(campaign)))
        return duration_s(jobs, machines_of(campaign)) / jobs[0].estimate_s

    assert duration_of("one", "two") == pytest.approx(2)
    assert duration_of("one", "far", "port") == pytest.approx(1)
    assert sharing == {}
    assert duration_of("one", "two", "cores", "far") == pytest.approx(3)
    assert sharing == {("one", "two", "cores"): ["core 1"]}
    assert duration_of("near-hardware", "far-hardware") == pytest.approx(2)
    assert sharing == {("near-hardware", "far-hardware"): ["gateway root@dut"]}


@pytest.mark.parametrize(
    ("wrong", "right", "error"),
    [
        ("on: [one, far]", "on: [one, fra]", ": runs[0].on[1]: there is no testbed 'fra'; did you mean 'far'?"),
        ("on: [alike]", "on: [two, two]", ": runs[1].on[1]: two is here twice; remove one"),
        ("after: [x]", "after: [y]", ":7:1: runs: runs wait for each other: y after y"),
        ("after: [x]", "after: [z]", ": runs[1].after[0]: there is no run 'z'"),
        ("name: y", "name: x", ":9:6: runs[1].name: there are two runs 'x'; rename one"),
        ("name: y", "name: ../y", ":9:6: runs[1].name: expected a name of letters, digits, dots, hyphens and"),
        ("far: {testbed", "alike: {testbed", ":6:3: testbeds.alike: alike is also a name of `same_hardware`"),
        ("kind: lab}, tester", "kind: lob}, tester", ": testbeds.far.testbed.kind: expected "),
        ("tester: root@far", "testr: far", "unknown field; did you mean 'tester'? Expected one of testbed, tester"),
        ("repeat: 3", "testbed: {}", ":8:57: runs[0].overrides.testbed: the campaign's `testbeds` decide it"),
        ("runs:", "runs: []\nrun:", ":8:1: run: unknown field; did you mean 'runs'? Expected one of name, description"),
    ],
)  # fmt: skip
def test_an_error_names_its_place_and_what_was_expected(file: Path, wrong: str, right: str, error: str) -> None:
    assert wrong in CAMPAIGN
    file.write_text(CAMPAIGN.replace(wrong, right))
    with pytest.raises(PlanError) as found:
        load_campaign(file)
    assert f"the campaign {file} has errors:\n{file}:" in str(found.value)
    assert error in str(found.value)


def test_an_error_of_a_plan_names_the_run_and_the_testbed(file: Path) -> None:
    file.write_text(CAMPAIGN.replace("repeat: 3", "repeet: 3"))
    with pytest.raises(PlanError, match=r"(?s)^the run x on one: the plan .*repeet: unknown field; did you mean 'repe"):
        jobs_of(load_campaign(file), file)


@pytest.mark.parametrize("name", ["shadow", "link.yaml"])
def test_a_file_that_is_no_plan_is_not_quoted(file: Path, name: str) -> None:
    (file.parent / "shadow").write_text("root:*:20228:0:99999:7:::")
    (file.parent / "link.yaml").symlink_to("shadow")
    file.write_text(CAMPAIGN.replace("plan: p.yaml", f"plan: {name}"))
    with pytest.raises(
        PlanError, match=rf"^the run x: plan: expected a file .* with .yaml or .yml, and {name} is .*/shadow$"
    ):
        jobs_of(load_campaign(file), file)
