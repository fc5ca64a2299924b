# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tools.count import Count, allowed_skips, count, main

JUNIT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><skipped message="no root"/></testcase>
<testcase name="c"><failure>x</failure></testcase><testcase name="d"><error>y</error></testcase>
<testcase name="e"/>
</testsuite></testsuites>"""


def test_every_outcome_is_counted_once(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text(JUNIT)
    assert count(file) == Count(passed=2, failed=2, skipped=1)


def test_failed_tests_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failure = '<failure message="frames are missing&#10;assert 1 == 2">x</failure>'
    cases = (
        f'<testcase classname="m" name="a">{failure}</testcase>'
        f'<testcase classname="m" name="b"><error>{"y" * 1000}</error></testcase>'
    )
    (tmp_path / "a.xml").write_text(f"<testsuite>{cases}</testsuite>")
    assert main([str(tmp_path / "a.xml")]) == 1
    assert capsys.readouterr().err == f"failed: m.a: frames are missing\nfailed: m.b: {'y' * 300}\n"


@pytest.mark.parametrize(
    ("again", "code", "counts", "said"),
    [
        ("", 0, "2 passed, 0 failed", "failed at first, passed when it ran again: m.a: late"),
        ('<failure message="late too"/>', 1, "1 passed, 1 failed", "failed: m.a: late too"),
    ],
)
def test_what_ran_again_counts_as_it_ended_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], again: str, code: int, counts: str, said: str
) -> None:
    case = '<testsuite><testcase classname="m" name="a">{}</testcase>{}</testsuite>'
    first = case.format('<failure message="late"/>', '<testcase classname="m" name="b"/>')
    (tmp_path / "labs.xml").write_text(first)
    (tmp_path / "labs-again.xml").write_text(case.format(again, ""))
    assert main([str(tmp_path / "labs.xml")]) == code
    shown = capsys.readouterr()
    assert shown.out == f"{counts}, 0 skipped\n"
    assert shown.err == f"{said}\n"


def test_files_are_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text('<testsuite><testcase name="a"/></testsuite>')
    assert main([str(tmp_path / "a.xml"), str(tmp_path / "b.xml")]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed, 0 skipped\n"


@pytest.mark.parametrize("content", [None, "", "<testsuite/>"], ids=["missing", "cut short", "empty"])
def test_a_runner_that_ran_nothing_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = tmp_path / "a.xml"
    if content is not None:
        file.write_text(content)
    assert main([str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "0 passed, 0 failed, 0 skipped\n"
    assert "a.xml" in captured.err


@pytest.mark.parametrize(
    ("listed", "code"),
    [("", 1), ("tests.a.*  # needs a NIC\n", 0), ("tests.a.x[1]  # needs a NIC\n", 0), ("tests.b.*  # never\n", 1)],
)
def test_only_listed_tests_may_be_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], listed: str, code: int
) -> None:
    (tmp_path / "list").write_text(f"# Tests that may be skipped.\n{listed}")
    case = '<testcase classname="tests.a" name="x[1]"><skipped message="no NIC"/></testcase>'
    (tmp_path / "a.xml").write_text(f"<testsuite>{case}</testsuite>")
    assert main([str(tmp_path / "a.xml"), "--skips", str(tmp_path / "list")]) == code
    assert ("tests.a.x[1]: skipped" in capsys.readouterr().err) == (code == 1)


def test_a_listed_skip_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("tests.a.*\n")
    with pytest.raises(ValueError, match=r"list:1: expected a reason after `tests.a.\*`"):
        allowed_skips(tmp_path / "list")
