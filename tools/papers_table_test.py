# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import papers_table
from tools.papers_table import rows

COMPARED = json.dumps(["b", "rate: cps median", [2000.0, 0.5], [1999.0, 0.504]]).replace('"', "&quot;")
CASE = f'<testcase name="t"><properties><property name="compared" value="{COMPARED}"/></properties>{{}}</testcase>'
LINE = "| b | rate: cps median | 2,000 · 0.5 | 0.80 % |"


def plans(folder: Path, *stems: str) -> Path:
    for stem in stems:
        (folder / f"{stem}.yaml").touch()
    return folder


def junit(file: Path, *cases: str) -> Path:
    file.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    return file


def test_a_line_has_the_values_and_their_greatest_difference(tmp_path: Path) -> None:
    other = CASE.replace("&quot;b&quot;", "&quot;a&quot;")
    files = [junit(tmp_path / "1.xml", CASE.format("")), junit(tmp_path / "2.xml", other.format(""))]
    assert [*rows(plans(tmp_path, "a", "b"), files)][2:] == [LINE.replace("| b |", "| a |"), LINE]


@pytest.mark.parametrize(
    ("cases", "error"),
    [
        ([CASE.format("<failure/>")], "t did not pass"),
        (['<testcase name="other"/>'], "no test noted results of b: run `make test` and `make test-long`"),
    ],
)
def test_a_plan_without_a_result_is_an_error(tmp_path: Path, cases: list[str], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        list(rows(plans(tmp_path, "b"), [junit(tmp_path / "1.xml", *cases)]))


@pytest.mark.parametrize(
    ("stems", "written", "said"), [("b", LINE, ""), ("ab", "before", "no test noted results of a")]
)
def test_the_page_is_written_where_every_plan_has_a_result(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stems: str,
    written: str,
    said: str,
) -> None:
    page = tmp_path / "papers.md"
    page.write_text("<!-- papers -->\nbefore\n<!-- end -->\n")
    monkeypatch.setattr(papers_table, "PAGE", page)
    monkeypatch.setattr(papers_table, "PLANS", plans(tmp_path, *stems))
    monkeypatch.setattr(papers_table, "MEASURED", [junit(tmp_path / "1.xml", CASE.format(""))])
    papers_table.main()
    assert page.read_text().splitlines()[-2] == written
    assert said in capsys.readouterr().err
