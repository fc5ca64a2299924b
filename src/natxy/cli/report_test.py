# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from tests.support.sample_runs import quickstart


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("markdown", "| **Median** |"),
        ("latex", r"\textbf{Median} &"),
        ("csv", ",115625.0,"),
        ("csv-tables", "\nMedian,"),
    ],
)
def test_a_format_prints_the_rfcs_form_and_writes_nothing(tmp_path: Path, form: str, row: str) -> None:
    folder = quickstart(tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(folder), "--format", form])
    assert done.exit_code == 0, done.output
    assert row in done.output
    assert form == "csv" or "Maximum connection establishment rate" in done.output
    assert not (folder / "report.html").exists()


def test_no_run_is_exit_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["report", str(tmp_path), "--format", "csv"]).exit_code == 2


@pytest.mark.parametrize("option", ["--format=csv", "--charts=svg", "--benchmark=bigger-is-better"])
def test_a_campaign_leads_to_its_runs_and_to_the_export(tmp_path: Path, option: str) -> None:
    (tmp_path / "campaign.jsonl").touch()
    done = CliRunner().invoke(app, ["report", str(tmp_path), option])
    said = "".join(done.output.split())
    assert done.exit_code == 2
    assert "isacampaign" in said
    assert f"`natxyexport{tmp_path}--formatcsv`" in said


def test_charts_are_files_beside_the_run_or_elsewhere(tmp_path: Path) -> None:
    folder = quickstart(tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(folder), "--charts", "svg"])
    assert done.exit_code == 0, done.output
    assert len(list((folder / "charts").glob("*.svg"))) == 11
    assert str(folder / "charts" / "01-forward-search.svg") in done.output
    done = CliRunner().invoke(app, ["report", str(folder), "--charts", "json", "--output", str(tmp_path / "paper")])
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "paper").glob("*.json"))) == 11
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    "options",
    [["--charts", "svg", "--format", "csv"], ["--output", "x"], ["--charts", "svg", "--output", "/dev/null/x"]],
)
def test_options_that_make_no_sense_are_exit_2(tmp_path: Path, options: list[str]) -> None:
    folder = quickstart(tmp_path / "run")
    assert CliRunner().invoke(app, ["report", str(folder), *options]).exit_code == 2
