# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.cli.list import Kind
from natxy.plan.written import Plan

PLAN = """\
name: ready
description: one throughput
testbed: {kind: simulated}
experiments:
  - {name: forwarding, gateway: simulated, procedure: throughput, search: {max_rate: 500k}}
"""


def listed(kind: str) -> dict[str, dict[str, str]]:
    done = CliRunner().invoke(app, ["list", kind, "--json"])
    assert done.exit_code == 0, done.output
    return {entry["name"]: entry for entry in json.loads(done.output)}


def in_plans(definition: str, field: str) -> set[str]:
    """Returns the values that a plan's schema allows for `field`."""
    schema = Plan.model_json_schema()["$defs"][definition]["properties"][field]
    return set(schema["anyOf"][0]["enum"])


@pytest.mark.parametrize("kind", [kind.value for kind in Kind if kind != Kind.PLANS])
def test_everything_has_a_name_and_a_summary_of_one_line(kind: str) -> None:
    entries = listed(kind)
    assert entries
    for entry in entries.values():
        assert set(entry) == {"name", "summary"}
        assert entry["summary"].strip()
        assert "\n" not in entry["summary"]


def test_the_lists_are_what_a_plan_takes() -> None:
    schema = Plan.model_json_schema()["$defs"]["ExperimentPlan"]["properties"]
    gateways, procedures = (set(schema[field]["anyOf"][0]["enum"]) for field in ("gateway", "procedure"))
    assert set(listed("procedures")) == procedures
    assert set(listed("gateways")) == gateways
    assert set(listed("searches")) == in_plans("SearchPlan", "kind")


def test_plans_of_the_folder_here_with_a_bad_one_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "ready.yaml").write_text(PLAN)
    (tmp_path / "plans" / "bad.yaml").write_text("name: [")
    monkeypatch.chdir(tmp_path)
    plans = listed("plans")
    assert plans["ready"] == {"name": "ready", "summary": "one throughput", "path": "plans/ready.yaml"}
    assert "has errors" in plans["bad"]["summary"]


def test_the_plans_that_come_with_natxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(listed("plans")["quickstart"]["path"]).is_file()


def test_people_get_a_line_each() -> None:
    lines = CliRunner().invoke(app, ["list", "procedures"]).output.splitlines()
    assert [line.split()[0] for line in lines] == [*listed("procedures")]
    assert any(line.endswith("(RFC 2544 §26.1)") for line in lines)


def test_an_unknown_kind_is_exit_2() -> None:
    assert CliRunner().invoke(app, ["list", "colours"]).exit_code == 2


@pytest.mark.parametrize("kind", [kind.value for kind in Kind])
def test_a_list_fits_a_terminal_with_summaries_in_a_column(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("plans/of-a-long-name-that-leaves-no-room")
    folder.mkdir(parents=True)
    (folder / "ready.yaml").write_text(PLAN.replace("one throughput", "one throughput, " * 9))
    lines = CliRunner().invoke(app, ["list", kind], env={"COLUMNS": "80", "FORCE_COLOR": "1"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    column = max(len(line) - len(line.lstrip()) for line in lines)
    # A name, perhaps with the begin of its summary, or the rest of it.
    assert all("  " not in line[:column].strip() for line in lines)
    text = " ".join(" ".join(lines).split())
    for name, entry in listed(kind).items():
        assert f"{entry.get('path', name)} {' '.join(entry['summary'].split())}" in text
