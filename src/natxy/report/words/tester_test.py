# SPDX-License-Identifier: Apache-2.0
"""Tests the tester's own ceiling in the terminal, on the page and in the CSV."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from natxy.cli import app
from natxy.events.listener import RunListener
from natxy.procedures.truth_test import plan_of
from natxy.report.page import html
from natxy.report.text import terminal
from natxy.results import RESULTS_FILE
from natxy.results.analysis.ceilings_test import FOUND, OF_QUERIES, TESTER, ceiling
from natxy.results.reader import RunReader
from natxy.results.selftest import SelfTest, Variant
from natxy.run.run import run_plan
from tests.support.sample_runs import quickstart


def measured_after(folder: Path, found: SelfTest | None) -> Path:
    with closing(sqlite3.connect(quickstart(folder) / RESULTS_FILE, isolation_level=None)) as db:
        known = found.model_dump_json() if found else None
        db.execute("UPDATE run SET tester_json = ?, self_test_json = ?", (TESTER.model_dump_json(), known))
    return folder


def near(ceiling_fps: float = 420_000) -> SelfTest:
    limits = [ceiling(size, variant, ceiling_fps) for size in (64, 1518) for variant in Variant]
    return FOUND.model_copy(update={"ceilings": limits})


def printed(folder: Path) -> str:
    output = io.StringIO()
    Console(file=output, width=300).print(terminal.render(RunReader(folder)))
    return output.getvalue()


def test_a_result_near_the_ceiling_is_marked(tmp_path: Path) -> None:
    folder = measured_after(tmp_path, near())
    text, page = printed(folder), html.render(RunReader(folder))
    for where in (text, page):
        assert "Near the tester" in where
        assert "tester-limited?" in where
        assert "of the 420 kframes/s that this tester passes without a gateway" in where
        assert "Without a gateway this tester passes 420 kframes/s per direction (self-test of 2026-11-22)." in where
    rows = list(csv.DictReader(CliRunner().invoke(app, ["export", str(folder), "--format", "csv"]).output.splitlines()))
    marked = {row["experiment"] for row in rows if row["tester_limited"] == "True"}
    assert marked
    assert {row["tester_ceiling_fps"] for row in rows if row["experiment"] in marked} == {"420000.0"}
    assert {"forward_lateness_p999_ns", "forward_lateness_max_ns"} <= rows[0].keys()


def test_a_self_test_that_a_result_outdid_is_to_be_made_again(tmp_path: Path) -> None:
    again = "it did more than the self-test found; make a new one by `natxy selftest` on an idle machine"
    assert again in printed(measured_after(tmp_path / "outdone", near(50_000)))
    assert again not in printed(measured_after(tmp_path / "near", near()))


def test_without_a_self_test_the_report_says_so(tmp_path: Path) -> None:
    folder = measured_after(tmp_path, None)
    for where in (printed(folder), html.render(RunReader(folder))):
        assert "No self-test was made of this tester (veth by net_af_xdp, 1 core of vm)" in where
        assert "tester-limited?" not in where


def test_a_server_that_is_as_fast_as_half_the_tester_is_marked(tmp_path: Path) -> None:
    assert run_plan(plan_of("dns64-rate", {}, phase2=False), tmp_path, RunListener()) == 0
    [median] = [each.statistics.median for each in RunReader(tmp_path).run.experiments if each.statistics]
    limit = OF_QUERIES.model_copy(update={"rate_fps": 2 * median})
    known = FOUND.model_copy(update={"ceilings": [limit]})
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE, isolation_level=None)) as db:
        both = (TESTER.model_dump_json(), known.model_dump_json())
        db.execute("UPDATE run SET tester_json = ?, self_test_json = ?", both)
    text = printed(tmp_path)
    assert "The tester itself answers" in text
    assert "1 of 1 results are above 45% of that, as RFC 8219 §9.2.1 asks for 220% of a server's rate" in text
    assert "tester-limited? 50" in text
    assert "queries/s that this tester answers itself: the gateway may be faster" in text


def test_of_a_simulation_nothing_is_said(tmp_path: Path) -> None:
    assert "self-test" not in printed(quickstart(tmp_path))
