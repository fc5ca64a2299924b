# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy check --at-scale` with the plans of the papers."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.cli.bodies.at_scale import at_scale
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan

PAPER = Path(__file__).parents[4] / "plans" / "paper"


@pytest.mark.parametrize(
    ("stem", "name", "cells"),
    [
        (
            "jool-connections", "throughput/connections=1600M",
            ("1,600,000,000", "8 h 54 min", "36,000 s", "40,000", "58,705", "–", "168 GB", "25.6 GB", "1451 h 03 min"),
        ),
        (
            "iptables-connections", "rate/connections=800M",
            ("800,000,000", "26 min 42 s", "7,200 s", "40,000", "64,512", "1,073,741,824", "309 GB", "12.8 GB",
             # 10 repetitions of 14 steps, each with 1602 s of trial, 2352 s to empty the table, 5 s of rest and 2 s to
             # learn.
             "154 h 03 min"),
        ),
        (
            "pf-nat64-enumeration", "throughput/source=10000-49999",
            ("4,000,000", "14 min 26 s", "900 s", "40,000", "64,512", "4,400,000", "2.8 GB", "64 MB", "66 h 12 min"),
        ),
    ],
)  # fmt: skip
def test_what_the_largest_plans_need(stem: str, name: str, cells: tuple[str, ...]) -> None:
    table = at_scale(load_plan(PAPER / f"{stem}.yaml"))
    rows = {first: rest for first, *rest in table.rows}
    assert rows.get(name) == [*cells]


def test_what_the_gateway_of_a_users_commands_needs_is_unknown() -> None:
    gateway = {"driver": "command", "stateful": True, "masquerades": True, "clear": [["true"]]}
    rate = {"name": "rate", "procedure": "connection-rate", "connections": "5k", "search": {"max_rate": "100k"}}
    plan = resolve(Plan.model_validate({"name": "p", "experiments": [rate | {"gateway": gateway}]}))
    cells = dict(zip((each.title for each in at_scale(plan).columns), at_scale(plan).rows[0], strict=True))
    unknown = {"expire after", "Ports at once", "of", "Table", "DUT memory"}
    assert {title for title, cell in cells.items() if cell == "unknown"} == unknown
    assert cells["Tester memory"] == "80 kB"


def test_the_table_is_printed_on_request() -> None:
    plan = str(PAPER / "jool-tear-down.yaml")
    usual = CliRunner().invoke(app, ["check", plan])
    assert usual.exit_code == 0, usual.output
    assert "At full size" not in usual.output
    asked = CliRunner().invoke(app, ["check", plan, "--at-scale"])
    assert asked.exit_code == 0, asked.output
    assert "At full size" in asked.output
    assert "2 h 57 min" in asked.output
