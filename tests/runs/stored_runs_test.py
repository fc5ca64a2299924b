# SPDX-License-Identifier: Apache-2.0
"""Tests that every command that reads runs reads those which earlier builds of natxy stored."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.results.database.stored_runs_test import SCHEMAS, STORED, digests


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED / f"schema-{request.param}", tmp_path / "run"))


def test_every_command_that_reads_runs_reads_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = digests(folder)
    for argv in (
        ["compare", str(folder), str(folder)],
        ["history", str(folder)],
        ["export", str(folder), "--output", str(tmp_path / "run.csv")],
        ["export", str(folder), "--output", str(tmp_path / "run.json")],
    ):
        done = CliRunner().invoke(app, argv)
        assert done.exit_code == 0, (argv, done.output)
        assert digests(folder) == before
    assert "baseline" in (tmp_path / "run.csv").read_text()
    assert json.loads((tmp_path / "run.json").read_text())
    done = CliRunner().invoke(app, ["report", str(folder)])
    assert done.exit_code == 0, done.output
    assert "stored" in (folder / "report.html").read_text()


def test_a_later_schema_is_a_clear_error(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(STORED / "schema-10", tmp_path / "run"))
    with closing(sqlite3.connect(folder / "results.sqlite")) as db:
        db.execute("PRAGMA user_version = 999")
        db.execute("UPDATE run SET natxy_version = '7.0.0'")
        db.commit()
    for verb in ("report", "export", "compare"):
        argv = [verb, str(folder), *([str(folder)] if verb == "compare" else [])]
        done = CliRunner().invoke(app, [*argv, *(["--format", "csv"] if verb == "export" else [])])
        assert done.exit_code != 0
        assert "natxy 7.0.0 wrote these results by schema 999" in " ".join(f"{done.output} {done.exception}".split())
