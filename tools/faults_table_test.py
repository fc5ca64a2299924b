# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tools.faults_table import rows

CASE = (
    '<testcase name="test_disk_full[jool]"><properties><property name="exit code" value="4"/>'
    '<property name="seconds" value="9"/><property name="left" value="nothing"/></properties>{}</testcase>'
)


def test_a_line_names_the_fault_and_its_end(tmp_path: Path) -> None:
    (tmp_path / "faults.xml").write_text(f"<testsuite>{CASE.format('')}</testsuite>")
    assert [*rows(tmp_path / "faults.xml")][2:] == ["| disk full, jool | 4 | 9 |  | nothing |"]


@pytest.mark.parametrize("outcome", ["<failure/>", "<error/>", "<skipped/>"])
def test_a_test_that_did_not_pass_is_no_result(tmp_path: Path, outcome: str) -> None:
    (tmp_path / "faults.xml").write_text(f"<testsuite>{CASE.format(outcome)}</testsuite>")
    with pytest.raises(ValueError, match=r"test_disk_full\[jool\] did not pass"):
        list(rows(tmp_path / "faults.xml"))
