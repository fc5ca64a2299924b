# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from natxy.plan.models import Plan
from natxy.plan.resolve import resolve
from natxy.procedures.listener import RunListener
from natxy.procedures.runner import run_plan
from natxy.report.goodput_table import goodput_tables
from natxy.report.tables import Table
from natxy.results.reader import RunReader


def tables(folder: Path, *experiments: dict[str, Any], **head: Any) -> list[Table]:
    usual = {"procedure": "tcp-goodput", "directions": "forward", "repeat": 1}
    whole = [usual | experiment for experiment in experiments]
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": whole} | head
    assert run_plan(resolve(Plan.model_validate(plan)), folder / "run", RunListener()) == 0
    return goodput_tables(RunReader(folder / "run").run)


def gateway(forwarding_fps: float) -> dict[str, Any]:
    return {"driver": "simulated", "forwarding_fps": forwarding_fps}


def test_a_row_a_gateway_and_a_column_for_each_way(tmp_path: Path) -> None:
    goodputs, line, baseline = tables(
        tmp_path,
        {"name": "v6", "gateway": gateway(150_000), "family": "ipv6"},
        {"name": "nat64", "gateway": gateway(75_000), "translation": "nat64", "baseline": "v6"},
        {"name": "again", "title": "Once more", "gateway": gateway(75_000), "translation": "nat64", "flows": 1},
        {"name": "alone", "gateway": gateway(75_000), "flows": 2},
        line_rate="1Gbps",
    )
    assert goodputs.title == "TCP goodput of hosts and gateway together, Mbit/s: forward, 1 flow, best of 3"
    assert [column.title for column in goodputs.columns] == ["Gateway", "IPv6", "NAT64"]
    # A full segment has 1448 bytes, and 1.5 frames; the line carries 928.5 Mbit/s of them.
    assert goodputs.rows == (("simulated", "1,158.4", "579.2"), ("Once more", "–", "579.2"))
    assert line.rows == (("simulated", "125", "62"), ("Once more", "–", "62"))
    assert baseline.rows == (("simulated", "50"),)
    assert [column.title for column in baseline.columns] == ["Gateway", "NAT64"]


def test_a_single_experiment_needs_no_table(tmp_path: Path) -> None:
    assert tables(tmp_path, {"name": "x", "gateway": "simulated"}) == []
