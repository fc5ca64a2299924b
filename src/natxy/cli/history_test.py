# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.results.records import RunState
from tests.support.command import HANG_S
from tests.support.past_runs import night
from tests.support.sample_runs import HOSTILE, hostile


@pytest.fixture(autouse=True)
def _own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for number in range(1, 13):
        kernel = "6.12.5" if number > 6 else "6.1.0-18-amd64"
        night(folder, number, 240e3 if number > 6 else 200e3, kernel=kernel)
    return folder


def history(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["history", *map(str, arguments)], env={"COLUMNS": "200"})


def specs(page: Path) -> dict[str, dict[str, object]]:
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="chart-specs">(.*?)</script>', text, re.DOTALL)
    parsed: dict[str, dict[str, object]] = json.loads(found)
    return parsed


def test_a_page_has_a_chart_of_each_figure_and_the_changes(runs: Path) -> None:
    done = history(runs)
    assert done.exit_code == 0, done.output
    assert f"History of 12 runs: {runs}/history.html" in done.output
    page = (runs / "history.html").read_text(encoding="utf-8")
    assert len(specs(runs / "history.html")) == 3
    for said in ("Share of Forwarding", "gateway&#39;s kernel", "6.12.5", "#6</td>", "#7,"):
        assert said in page, said


def test_csv_has_a_row_for_each_figure_of_each_run(runs: Path) -> None:
    rows = list(csv.DictReader(history(runs, "--format", "csv").output.splitlines()))
    assert len(rows) == 3 * 12
    nat = [row for row in rows if row["experiment"] == "nat" and row["figure"] == "rate"]
    assert [int(row["run"]) for row in nat] == [*range(1, 13)]
    changed = [row for row in nat if row["change_percent"]]
    assert [row["run"] for row in changed] == ["7"]
    assert float(changed[0]["change_low"]) < float(changed[0]["change_percent"]) < float(changed[0]["change_high"])
    assert changed[0]["change_is_better"] == "True"
    assert changed[0]["changed"] == "gateway's kernel: Linux 6.1.0-18-amd64 → Linux 6.12.5"
    assert all(float(row["low"]) <= float(row["median"]) <= float(row["high"]) for row in rows)


def test_json_has_the_same_rows_and_what_was_left_out(runs: Path) -> None:
    (runs / "bad").mkdir()
    (runs / "bad" / "results.sqlite").write_text("x" * 1000)
    found = json.loads(history(runs, "--format", "json").output)
    rows = list(csv.DictReader(history(runs, "--format", "csv").output.splitlines()))
    assert [str(row["median"]) for row in found["figures"]] == [row["median"] for row in rows]
    assert [Path(each["folder"]).name for each in found["left_out"]] == ["bad"]


@pytest.mark.parametrize("form", ["markdown", "text"])
def test_tables_have_changes_versions_and_runs(runs: Path, form: str) -> None:
    done = history(runs, "--format", form)
    assert done.exit_code == 0, done.output
    for said in (
        "nightly: Changes of level",
        "nightly: Versions and settings that changed",
        "nightly: Runs",
        "Linux 6.12.5",
    ):
        assert said in done.output, said
    assert not (runs / "history.html").exists()


def test_a_plan_is_chosen_by_its_name(runs: Path) -> None:
    night(runs, 20, name="weekly")
    rows = list(csv.DictReader(history(runs, "--plan", "weekly", "--format", "csv").output.splitlines()))
    assert {row["plan"] for row in rows} == {"weekly"}
    assert "History of 1 run: " in history(runs, "--plan", "weekly").output
    page = (runs / "history.html").read_text(encoding="utf-8")
    assert "1 run · 2026-03-20" in page
    assert "2026-03-12" not in page
    wrong = history(runs, "--plan", "daily")
    assert wrong.exit_code == 2
    assert "there are runs of nightly, weekly" in wrong.output


def test_runs_that_did_not_end_are_said(runs: Path, tmp_path: Path) -> None:
    night(runs, 20, state=RunState.INTERRUPTED)
    assert history(runs, "--output", tmp_path / "page.html").exit_code == 0
    assert "1 of the runs was not carried out to the end" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not (runs / "history.html").exists()


def test_a_hostile_run_injects_nothing(tmp_path: Path) -> None:
    hostile(tmp_path / "runs" / "a")
    hostile(tmp_path / "runs" / "b")
    done = history(tmp_path / "runs")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "runs" / "history.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "<script>alert" not in page


def test_what_cannot_be_done_is_exit_2(runs: Path, tmp_path: Path) -> None:
    assert history(tmp_path / "nowhere").exit_code == 2
    (tmp_path / "none").mkdir()
    assert "no runs were found" in history(tmp_path / "none").output
    assert history(runs, "--format", "csv", "--output", tmp_path / "x").exit_code == 2
    assert "cannot be written" in history(runs, "--output", tmp_path / "no" / "such").output


def test_several_at_once_share_the_index(runs: Path) -> None:
    command = [sys.executable, "-m", "natxy", "history", str(runs), "--format", "csv"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=HANG_S) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [errors for _, errors in outputs] == ["", "", ""]
    assert len({output for output, _ in outputs}) == 1
