# SPDX-License-Identifier: Apache-2.0
"""Tests the plans that natxy comes with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from natxy.plan.model.timing import PRESETS, TimingPreset
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.schema import plan_schema
from natxy.published import published_names

FOLDER = Path(__file__).parents[4] / "plans"
GATEWAYS = (FOLDER.parent / "docs/reference/gateways.md").read_text()
PLANS = sorted(FOLDER.rglob("*.yaml"))


def called(file: Path) -> str:
    return str(file.relative_to(FOLDER).with_suffix(""))


@pytest.mark.parametrize("file", PLANS, ids=called)
def test_every_plan_resolves_and_is_called_as_its_file(file: Path) -> None:
    plan = load_plan(file)
    paper = file.parent.name == "paper"
    assert plan.name == (f"{file.stem}-paper" if paper else file.stem)
    assert plan.description
    assert "\n" not in plan.description


@pytest.mark.parametrize("file", PLANS, ids=called)
def test_an_editor_accepts_every_plan_and_marks_unknown_fields(file: Path) -> None:
    validator = Draft202012Validator(plan_schema())
    plan = YAML(typ="safe").load(file)
    assert not [*validator.iter_errors(plan)]
    experiments = plan.pop("experiments")
    unknown = [{**plan, "experiment": 1}, {**plan, "experiments": [{**experiments[0], "frames": 1}]}]
    assert not any(map(validator.is_valid, [plan, *unknown]))


@pytest.mark.parametrize("file", PLANS, ids=called)
def test_every_plan_leads_an_editor_to_the_schema(file: Path) -> None:
    named = re.findall(r"^# yaml-language-server: \$schema=(.+)$", file.read_text(), re.MULTILINE)
    assert [(file.parent / path).resolve() for path in named] == [FOLDER.parent / "docs/reference/plan.schema.json"]


@pytest.mark.parametrize("file", PLANS, ids=called)
def test_no_plan_lets_the_tester_fall_further_behind_than_its_preset(file: Path) -> None:
    for timing in (experiment.timing for experiment in load_plan(file).experiments):
        strict = PRESETS[timing.preset]
        assert (timing.max_pause, timing.overrun_floor) == (strict.max_pause, strict.overrun_floor)


@pytest.mark.parametrize("file", sorted((FOLDER / "paper").glob("*.yaml")), ids=called)
def test_published_measurements_are_done_again_as_the_rfcs_ask(file: Path) -> None:
    plan = load_plan(file)
    assert plan.published
    assert isinstance(plan.testbed, HardwareConfig | HostsConfig)
    assert {experiment.timing.preset for experiment in plan.experiments} == {TimingPreset.RFC}
    # A best of some tests is repeated within itself.
    assert all(experiment.repeat.least >= 10 or experiment.procedure.between_hosts for experiment in plan.experiments)


def test_every_published_table_stands_beside_some_plans_results() -> None:
    assert {*published_names()} == {name for file in PLANS for name in load_plan(file).published}


@pytest.mark.parametrize(("text", "name"), re.findall(r"```yaml\n(name: (\w+)\n.+?)```", GATEWAYS, re.DOTALL))
def test_plans_in_the_docs_of_gateways(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / f"{name}.yaml"
    file.write_text(text)
    for experiment in load_plan(file).experiments:
        if experiment.gateway.driver != "command":
            continue
        plan = experiment.address_plan
        for link in (plan.left, plan.right):
            assert f"| {link.dut} |" in GATEWAYS
            assert f"| {link.behind[0]} by {link.tester.ip} |" in GATEWAYS
