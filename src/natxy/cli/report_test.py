# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from tests.sample_runs import quickstart


@pytest.mark.parametrize(
    ("form", "row"),
    [("markdown", "| **Median** |"), ("latex", r"\textbf{Median} &"), ("csv", "Median,")],
)
def test_a_format_prints_the_rfcs_form_and_writes_nothing(tmp_path: Path, form: str, row: str) -> None:
    folder = quickstart(tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(folder), "--format", form])
    assert done.exit_code == 0, done.output
    assert row in done.output
    assert "Maximum connection establishment rate" in done.output
    assert not (folder / "report.html").exists()


def test_no_run_is_exit_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["report", str(tmp_path), "--format", "csv"]).exit_code == 2
