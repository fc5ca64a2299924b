# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tools import faults_table
from tools.faults_table import TESTS, rows

CASE = (
    f'<testcase classname="{TESTS}" name="test_disk_full[jool]"><properties><property name="exit code" value="4"/>'
    '<property name="seconds" value="9"/><property name="left" value="nothing"/></properties>{}</testcase>'
)
OTHER = '<testcase classname="tests.testbeds.other_test" name="test_other"/>'


def test_a_line_names_the_fault_and_its_end(tmp_path: Path) -> None:
    (tmp_path / "faults.xml").write_text(f"<testsuite>{OTHER}{CASE.format('')}</testsuite>")
    assert [*rows(tmp_path / "faults.xml")][2:] == ["| disk full, jool | 4 | 9 |  | nothing |"]


@pytest.mark.parametrize("outcome", ["<failure/>", "<error/>", "<skipped/>"])
def test_a_test_that_did_not_pass_is_no_result(tmp_path: Path, outcome: str) -> None:
    (tmp_path / "faults.xml").write_text(f"<testsuite>{CASE.format(outcome)}</testsuite>")
    with pytest.raises(ValueError, match=r"test_disk_full\[jool\] did not pass"):
        list(rows(tmp_path / "faults.xml"))


def test_a_test_that_noted_no_exit_code_is_no_result(tmp_path: Path) -> None:
    case = f'<testcase classname="{TESTS}" name="test_no_fault"/>'
    (tmp_path / "faults.xml").write_text(f"<testsuite>{case}</testsuite>")
    with pytest.raises(ValueError, match="test_no_fault noted no exit code, left, seconds: run `make faults` again"):
        list(rows(tmp_path / "faults.xml"))


@pytest.mark.parametrize(
    ("outcome", "written", "said"),
    [
        ("", "| disk full, jool | 4 | 9 |  | nothing |", ""),
        (
            "<failure/>",
            "before",
            "faults.md stays as it is: test_disk_full[jool] did not pass: run `make faults` again",
        ),
    ],
)
def test_the_page_stays_as_it_is_after_a_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outcome: str,
    written: str,
    said: str,
) -> None:
    page, measured = tmp_path / "faults.md", tmp_path / "faults.xml"
    page.write_text("<!-- faults -->\nbefore\n<!-- end -->\n")
    measured.write_text(f"<testsuite>{CASE.format(outcome)}</testsuite>")
    monkeypatch.setattr(faults_table, "PAGE", page)
    monkeypatch.setattr(faults_table, "MEASURED", measured)
    faults_table.main()
    assert page.read_text().splitlines()[-2] == written
    assert capsys.readouterr().err.strip().endswith(said)
