# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables.published_figures import published_figures
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import quickstart

PLAN = {
    "name": "compared",
    "testbed": {"kind": "simulated"},
    "published": ["iptables-cores"],
    "experiments": [
        {"name": "t", "gateway": {"driver": "simulated"}, "procedure": {"name": "throughput"},
         "connections": 1000, "phase1_rate": {"rate": 1000}, "search": {"max_rate": 1000000}},
    ],
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunRecord:
    return RunReader(quickstart(tmp_path / "run")).run


def test_a_plan_names_what_stands_beside_its_results(run: RunRecord) -> None:
    plan = resolve(Plan.model_validate(PLAN))
    (figures,) = published_figures(replace(run, plan_yaml=plan.to_yaml()))
    assert figures.table.title.startswith("Published: iptables")
    assert [column.title for column in figures.table.columns] == ["CPU cores", "1", "2", "4", "8", "16"]
    assert [row[-1] for row in figures.table.rows[:4]] == ["4,000,000", "8,388,608", "8,388,608", "2,383,000"]
    (short,) = published_figures(replace(run, plan_yaml=plan.to_yaml()), narrow=True)
    assert [row[-1] for row in short.table.rows[:4]] == ["4M", "8.389M", "8.389M", "2.383M"]
    assert "draft-lencse-v6ops-transition-scalability-03" in figures.source
    assert "Figure 2" in figures.source


def test_a_plan_that_names_none_has_none(run: RunRecord) -> None:
    assert published_figures(run) == []


def test_a_wrong_name_is_answered_with_all_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown table 'iptables'; .*expected one of iptables-capacity, "):
        Plan.model_validate(PLAN | {"published": ["iptables"]})
