# SPDX-License-Identifier: Apache-2.0
"""Searches that tolerate loss, in virtual time: the model loses all frames above its limit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from natxy.events.listener import RunListener
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables import comparison
from natxy.report.tables import results as results_tables
from natxy.report.text import terminal
from natxy.report.words import headlines
from natxy.results.analysis.compare import compare
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan

THROUGHPUT: dict[str, Any] = {"name": "throughput", "procedure": "throughput"}
RATE: dict[str, Any] = {"name": "rate", "procedure": "connection-rate", "connections": "20k"}
VALIDATED: dict[str, Any] = RATE | {"name": "validated", "procedure": "validated-connection-rate"}
SEARCH = {"min_rate": "1k", "max_rate": "1M", "error": "0.2%"}


def plan_of(experiment: dict[str, Any], kind: str = "binary", **gateway: Any) -> Plan:
    common = {"gateway": {"driver": "simulated"} | gateway, "search": SEARCH | {"kind": kind}}
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    return Plan.model_validate(head | {"experiments": [common | experiment]})


def measure(experiment: dict[str, Any], kind: str = "binary", **gateway: Any) -> RunRecord:
    with TemporaryDirectory() as folder:
        assert run_plan(resolve(plan_of(experiment, kind, **gateway)), Path(folder) / "run", RunListener()) == 0
        return RunReader(Path(folder) / "run").run


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
@settings(max_examples=25, deadline=None)
@given(
    limit_fps=st.integers(min_value=10_000, max_value=400_000),
    percent=st.floats(min_value=0.01, max_value=20),
    other_percent=st.floats(min_value=0, max_value=20),
)
def test_throughput_ends_where_the_stricter_direction_loses_more_than_it_may(
    kind: str, limit_fps: int, percent: float, other_percent: float
) -> None:
    tolerance = {"forward": f"{percent:.4f}%", "reverse": f"{other_percent:.4f}%"}
    run = measure(THROUGHPUT | {"loss_tolerance": tolerance}, kind, forwarding_fps=2 * limit_fps)
    truth = limit_fps / (1 - min(percent, other_percent) / 100)
    # Frames are whole: half a second of the slowest rate has 5000.
    assert run.experiments[0].values == [pytest.approx(truth, rel=0.003)]


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_loss_that_is_always_there_is_tolerated_in_its_direction_only(kind: str) -> None:
    lossy: dict[str, Any] = {"reverse_loss_ratio": 0.01}
    tolerant = measure(THROUGHPUT | {"loss_tolerance": {"reverse": "1.001%"}}, kind, **lossy)
    assert tolerant.experiments[0].values == [pytest.approx(250_000, rel=0.003)]
    assert measure(THROUGHPUT | {"loss_tolerance": {"forward": "2%"}}, kind, **lossy).experiments[0].values == [0]


def test_new_connections_may_be_missing() -> None:
    run = measure(RATE | {"loss_tolerance": "10%"}, connection_rate_fps=90_000)
    assert run.experiments[0].values == [pytest.approx(100_000, rel=0.003)]


def test_missing_replies_of_a_validation_are_tolerated_and_missing_connections_are_not() -> None:
    lossy: dict[str, Any] = {"reverse_loss_ratio": 0.01}
    run = measure(VALIDATED | {"loss_tolerance": {"reverse": "1%"}}, **lossy)
    assert run.experiments[0].values == [pytest.approx(200_000, rel=0.003)]
    with pytest.raises(PlanProblems, match=r"give only the replies a tolerance: \{reverse: 1%\}"):
        resolve(plan_of(VALIDATED | {"loss_tolerance": "1%"}))


def test_every_place_that_shows_the_rate_says_that_it_is_none_of_the_rfcs(tmp_path: Path) -> None:
    experiment = THROUGHPUT | {"loss_tolerance": {"forward": "0.01%"}}
    assert run_plan(resolve(plan_of(experiment)), tmp_path / "run", RunListener()) == 0
    reader = RunReader(tmp_path / "run")
    label = "Throughput (non-RFC: up to 0.01 % forward, 0 % reverse loss), frames/s per direction"
    assert [table.title for table in results_tables.overview(reader.run)] == [label]
    (form,) = results_tables.rfc_form(reader.run)
    assert form.title == label
    assert ("Loss tolerated (non-RFC)", "0.01 % forward, 0 % reverse") in form.rows
    assert "non-RFC" in headlines.rate_kind(reader.run.experiments[0])
    assert "(non-RFC" in comparison.figures(compare([reader.run, reader.run]))[0].rows[0][0]
    console = Console(width=100, record=True, file=StringIO())
    console.print(terminal.render(reader))
    assert "non-RFC" in console.export_text()
    assert any("up to 0.01 % forward, 0 % reverse of their frames lost" in caveat.text for caveat in reader.run.caveats)


def test_without_a_tolerance_nothing_is_said_of_it() -> None:
    run = measure(THROUGHPUT)
    assert [table.title for table in results_tables.overview(run)] == ["Throughput, frames/s per direction"]
    assert not any("lost" in caveat.text for caveat in run.caveats)


def test_the_resolved_plan_means_the_same() -> None:
    plan = resolve(plan_of(THROUGHPUT | {"loss_tolerance": "0.015%"}, "mlrsearch"))
    again = resolve(Plan.model_validate(plan.model_dump(mode="json", exclude_none=True)))
    assert again.experiments == plan.experiments


def test_the_goal_of_an_mlrsearch_is_the_tolerance() -> None:
    run = measure(THROUGHPUT | {"loss_tolerance": "0.5%"}, "mlrsearch")
    rows = {row[0]: row[1] for row in results_tables.rfc_form(run)[0].rows}
    assert rows["Search"].startswith("MLRsearch, goal loss ratio 0.005, ")


@pytest.mark.parametrize("given", ["100%", "-1%", 0.01, "0.01", True, {"forward": "1"}])
def test_what_is_no_share_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="expected a percentage from 0% to below 100%"):
        plan_of(THROUGHPUT | {"loss_tolerance": given})


def test_a_bare_number_is_told_what_it_may_mean() -> None:
    with pytest.raises(ValueError, match=r"got 0\.01; did you mean 0\.01% or 1%\?"):
        plan_of(THROUGHPUT | {"loss_tolerance": 0.01})
