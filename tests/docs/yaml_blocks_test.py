# SPDX-License-Identifier: Apache-2.0
"""Loads each block of YAML in the documentation, as `natxy check` does. A part of a plan is completed first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Final

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from natxy.campaign.jobs.jobs import jobs_of
from natxy.campaign.jobs.loading import load_campaign
from natxy.plan.caveats import CaveatKind, by_kind
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.scale import left_to_the_dut
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.written import ExperimentPlan, Plan
from natxy.plan.yaml.loading import load_plan
from natxy.plan.zero_checksums import without_tolerance
from natxy.procedures.caveats import caveats_of_plan
from tests.support.pages import PAGES, REPOSITORY

_BLOCK: Final = re.compile(r"^ *```yaml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
# Jobs of GitHub and GitLab, which tests/runs/ci_test.py carries out.
_CI: Final = "how-to/ci.md"
# What parts of plans refer to.
_NAT: Final = "nat: &nat {driver: nftables, udp_timeout_s: 600}\n"
_SEARCH: Final = {"min_rate": "100k", "max_rate": "600k"}
_FORWARDING: Final = {
    "name": "forwarding", "gateway": "linux-forward", "procedure": "throughput", "search": _SEARCH,
}  # fmt: skip
_RATE: Final = {
    "name": "rate", "gateway": {"driver": "nftables", "udp_timeout_s": 600}, "procedure": "connection-rate",
    "connections": "1M", "search": _SEARCH,
}  # fmt: skip
_THROUGHPUT: Final = {
    **_RATE, "name": "throughput", "procedure": "throughput", "phase1_rate": {"experiment": "rate", "percent": 50},
}  # fmt: skip
# Experiments to which these fields belong; others belong to forwarding.
_OWNERS: Final = {"gateway": _RATE, "translation": _RATE | {"gateway": "jool"}}
_BETWEEN_HOSTS: Final = {"name": "goodput", "gateway": "linux-forward", "procedure": "tcp-goodput"}
_HARDWARE: Final = {
    "kind": "hardware", "left": {"interface": "ens1f0"}, "right": {"interface": "ens1f1"},
    "dut": {"ssh": "root@dut.lab", "left": "eth1", "right": "eth2"},
}  # fmt: skip


def blocks() -> Iterator[tuple[str, str]]:
    """Yields each block with the place where it is, such as `docs/reference/plan.md:10`."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{page.relative_to(REPOSITORY)}:{line}", dedent(found[1])


BLOCKS: Final = dict(blocks())


def completed(part: Any) -> dict[str, Any]:
    """Returns the plan that a part of one belongs to: experiments, or fields of the plan, of an experiment, of its
    gateway or of its testbed."""
    plan: dict[str, Any] = {"name": "completed", "testbed": {"kind": "lab"}}
    if isinstance(part, list):
        own = {each["name"] for each in part}
        others = [each for each in (_FORWARDING, _RATE, _THROUGHPUT) if each["name"] not in own]
        return plan | {"defaults": {"search": _SEARCH}, "experiments": others + part}
    if _fields(part, Plan):
        between_hosts = part.get("testbed", {}).get("kind") == "hosts"
        return {**plan, "experiments": [_BETWEEN_HOSTS if between_hosts else _FORWARDING], **part}
    if _fields(part, ExperimentPlan):
        return plan | {
            "experiments": [next((_OWNERS[field] for field in part if field in _OWNERS), _FORWARDING) | part]
        }
    if _fields(part, CommandConfig):
        return plan | {"experiments": [_FORWARDING | {"gateway": {"driver": "command", **part}}]}
    if _fields(part, HardwareConfig):
        return plan | {"testbed": _HARDWARE | part, "experiments": [_FORWARDING]}
    pytest.fail(f"{', '.join(part)}: no part of a plan has these fields")


def _fields(part: dict[str, Any], model: type[BaseModel]) -> bool:
    return part.keys() <= {*model.model_fields, *(field.alias for field in model.model_fields.values()), "defaults"}


@pytest.mark.parametrize("place", BLOCKS)
def test_every_block_is_accepted(place: str, tmp_path: Path) -> None:
    text, file = BLOCKS[place], tmp_path / "block.yaml"
    yaml = YAML(typ="safe")
    part = yaml.load(f"{'' if '&nat' in text else _NAT}block:\n{indent(text, '  ')}")["block"]
    if _CI in place and "experiments" not in part:
        assert "jobs" in part or all("script" in job for job in part.values())
    elif "runs" in part:
        file.write_text(text, encoding="utf-8")
        campaign = load_campaign(file)
        for run in campaign.runs:
            (tmp_path / run.plan).write_text(json.dumps(completed([])), encoding="utf-8")
        assert jobs_of(campaign, file)
    else:
        whole = "name" in part and "experiments" in part
        file.write_text(text if whole else json.dumps(completed(part)), encoding="utf-8")
        plan = load_plan(file)
        assert plan.experiments
        if whole:
            assert left_to_the_dut(plan) == without_tolerance(plan) == {}


def test_the_plan_for_publication_departs_from_no_rfc(tmp_path: Path) -> None:
    text = next(text for place, text in BLOCKS.items() if "publish.md" in place)
    file = tmp_path / "block.yaml"
    file.write_text(text, encoding="utf-8")
    assert set(by_kind(caveats_of_plan(load_plan(file)))) == {CaveatKind.LIMITATION}


def test_what_is_no_part_of_a_plan_is_refused() -> None:
    with pytest.raises(pytest.fail.Exception, match="no part of a plan"):
        completed({"frame_sizes": 64})
