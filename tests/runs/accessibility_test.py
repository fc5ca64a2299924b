# SPDX-License-Identifier: Apache-2.0
"""Judges the pages that natxy makes by axe-core: WCAG 2.1, levels A and AA, and good practice."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.report.page.html import write_report
from natxy.results.reader import RunReader
from tests.support.chromium import accessibility, needs_chromium
from tests.support.past_runs import night
from tests.support.sample_runs import quickstart
from tests.support.sample_sweeps import sweeps

pytestmark = needs_chromium


def judge(page: Path, folder: Path, *, dark: bool, width: int) -> None:
    found = accessibility(page, folder, dark=dark, width=width)
    assert found["violations"] == []
    assert found["dark"] == dark
    # A page that stayed empty has no violation.
    assert {"color-contrast", "document-title", "html-has-lang", "landmark-one-main"} <= set(found["passed"])


def test_a_report_has_no_violation_in_light(tmp_path: Path) -> None:
    judge(write_report(RunReader(quickstart(tmp_path / "run"))), tmp_path, dark=False, width=1280)


def test_a_report_has_no_violation_in_the_dark_and_narrow(tmp_path: Path) -> None:
    judge(write_report(RunReader(quickstart(tmp_path / "run"))), tmp_path, dark=True, width=500)


@pytest.mark.more
def test_a_report_of_sweeps_has_no_violation(tmp_path: Path) -> None:
    judge(write_report(RunReader(sweeps(tmp_path / "run"))), tmp_path, dark=True, width=1280)


def test_a_history_has_no_violation(tmp_path: Path) -> None:
    for number in range(1, 10):
        night(tmp_path / "runs", number, 200e3 if number < 6 else 150e3)
    made = CliRunner().invoke(app, ["history", str(tmp_path / "runs")], env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert made.exit_code == 0, made.output
    judge(tmp_path / "runs" / "history.html", tmp_path, dark=False, width=500)


def test_a_violation_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "pale.html"
    page.write_text("<!doctype html><html lang=en><title>Pale</title><main><h1 style='color:#ccc'>Pale</h1></main>")
    (violation,) = accessibility(page, tmp_path, dark=False, width=1280)["violations"]
    assert "color-contrast" in violation
