# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages about plans have the tables that tools/plan_fields.py writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.model.base import PlanModel
from tools import plan_fields


@pytest.mark.parametrize("page", plan_fields.PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_tables_of_the_models(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == plan_fields.filled(text), "write them anew: python -m tools.plan_fields"


def test_the_pages_are_found() -> None:
    assert {"plan", "plan-traffic", "plan-procedures", "plan-search", "plan-testbeds"} <= {
        page.stem for page in plan_fields.PAGES
    }


def test_defaults_are_those_of_the_model_or_of_the_docstring() -> None:
    rows = [*plan_fields.rows("ResetConfig")]
    assert rows[:2] == ["| field | default | what it is |", "|---|---|---|"]
    assert any(row.startswith("| `command_timeout` | 60 s | ") for row in rows)
    assert any(row.startswith("| `steady` | the timing's `trial` | ") for row in rows)
    assert not any(row.startswith("| `name` ") for row in rows), "it selects the model"


def test_times_have_the_defaults_of_each_preset() -> None:
    rows = [*plan_fields.rows("TimingPlan")]
    assert rows[0] == "| field | `rfc` | `lab` | what it is |"
    assert any(row.startswith("| `trial` | 60 s | 500 ms | ") for row in rows)
    assert any(row.startswith("| `max_backlog` | – | 5% | ") for row in rows)


def test_a_table_of_several_models_says_whose_a_field_is() -> None:
    rows = [*plan_fields.rows("ThroughputConfig", "FrameLossRateConfig", "HostsConfig")]
    assert rows[0] == "| field | of | default | what it is |"
    assert any(row.startswith("| `frame_timeout` | `throughput`, `frame-loss-rate` | ") for row in rows)
    assert any(row.startswith("| `left`, `right` | `hosts` | required | ") for row in rows)


@pytest.mark.parametrize("docstring", ["", "Two sentences. Of a field.", "No end"])
def test_a_docstring_is_one_sentence(docstring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"properties": {"x": {"description": docstring}}}
    monkeypatch.setattr(plan_fields, "_definitions", lambda: {PlanModel.__name__: schema})
    with pytest.raises(ValueError, match=r"PlanModel\.x: expected a docstring of one sentence"):
        list(plan_fields.rows(PlanModel.__name__))
