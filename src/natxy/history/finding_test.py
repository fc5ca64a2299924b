# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.history.finding import Found, find
from natxy.history.index import Index
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.support.past_runs import night
from tests.support.sample_runs import SampleRun


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "cache" / "history.sqlite")


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that gets the name of the folder of each run that is read."""
    names: list[str] = []

    class Counting(RunReader):
        def __init__(self, path: Path, *, trials: bool) -> None:
            names.append(path.parent.name)
            super().__init__(path, trials=trials)

    monkeypatch.setattr("natxy.history.finding.RunReader", Counting)
    return names


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for number in (1, 2, 3):
        night(folder / f"week-{number}", number)
    return folder


def names(found: Found) -> list[str]:
    return [Path(run.folder).name for run in found.runs]


def test_runs_at_any_depth_are_in_the_order_of_time(runs: Path, index: Index) -> None:
    night(runs, 28)
    assert names(find([runs], index)) == ["nightly-01", "nightly-02", "nightly-03", "nightly-28"]
    assert names(find([runs / "week-2", runs], index)) == ["nightly-01", "nightly-02", "nightly-03", "nightly-28"]


def test_a_run_that_did_not_change_is_not_read_again(runs: Path, index: Index, read: list[str]) -> None:
    before = find([runs], index)
    assert read == ["nightly-01", "nightly-02", "nightly-03"]
    with sqlite3.connect(runs / "week-2" / "nightly-02" / RESULTS_FILE) as db:
        db.execute("UPDATE repetition SET value = 2 * value")
    db.close()
    after = find([runs], index)
    assert read[3:] == ["nightly-02"]
    assert [after.runs[0], after.runs[2]] == [before.runs[0], before.runs[2]]
    assert after.runs[1].experiments[0].figures[0].median == 2 * before.runs[1].experiments[0].figures[0].median
    assert find([runs], index) == Found(after.runs, ())
    assert read[4:] == []


def test_a_deleted_run_leaves_the_index(runs: Path, index: Index) -> None:
    find([runs], index)
    shutil.rmtree(runs / "week-2")
    assert names(find([runs / "week-1"], index)) == ["nightly-01"]
    assert [Path(path).name for path in index.known()] == ["nightly-01", "nightly-03"]


@pytest.mark.parametrize("content", [b"no database" * 100, b"", None])
def test_without_a_good_index_every_run_is_read(
    runs: Path, index: Index, tmp_path: Path, content: bytes | None, read: list[str]
) -> None:
    expected = find([runs], index).runs
    file = tmp_path / "cache" / "history.sqlite"
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    assert find([runs], index).runs == expected
    assert bool(index.problem) is (content != b"")
    # A damaged index is replaced, a folder is not.
    read.clear()
    find([runs], Index(file))
    assert len(read) == (3 if content is None else 0)


def test_an_index_of_another_format_is_replaced(runs: Path, index: Index, tmp_path: Path, read: list[str]) -> None:
    find([runs], index)
    with sqlite3.connect(tmp_path / "cache" / "history.sqlite") as db:
        db.execute("UPDATE run SET run = '{}'")
    find([runs], index)
    assert len(read) == 2 * 3
    with sqlite3.connect(tmp_path / "cache" / "history.sqlite") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    find([runs], index)
    assert len(read) == 3 * 3
    find([runs], index)
    assert len(read) == 3 * 3
    assert index.problem == ""


def test_what_is_no_run_is_left_out_with_the_reason(runs: Path, index: Index) -> None:
    for name, content in (("damaged", b"x" * 5000), ("begun", b"")):
        (runs / name).mkdir()
        (runs / name / RESULTS_FILE).write_bytes(content)
    half = (runs / "week-1" / "nightly-01" / RESULTS_FILE).read_bytes()
    (runs / "half").mkdir()
    (runs / "half" / RESULTS_FILE).write_bytes(half[: len(half) // 2])
    shutil.copytree(runs / "week-3" / "nightly-03", runs / "zz-copy")
    found = find([runs], index)
    assert names(found) == ["nightly-01", "nightly-02", "nightly-03"]
    reasons = {Path(each.folder).name: each.reason for each in found.left_out}
    assert set(reasons) == {"damaged", "begun", "half", "zz-copy"}
    assert "file is not a database" in reasons["damaged"]
    assert "holds no run yet" in reasons["begun"]
    assert "malformed" in reasons["half"]
    assert reasons["zz-copy"] == f"a copy of {runs}/week-3/nightly-03"


def test_what_cannot_be_read_is_left_out(runs: Path, index: Index) -> None:
    # Not even root can read a link to itself, or a file as a folder.
    circle = runs / "week-2" / "nightly-02" / RESULTS_FILE
    circle.unlink()
    circle.symlink_to(circle)
    no_folder = runs / "week-1" / "nightly-01" / RESULTS_FILE
    found = find([runs, no_folder], index)
    assert names(found) == ["nightly-01", "nightly-03"]
    reasons = {each.folder: each.reason for each in found.left_out}
    assert reasons == {str(no_folder): os.strerror(errno.ENOTDIR), str(circle.parent): os.strerror(errno.ELOOP)}


def test_a_run_that_goes_on_is_read_each_time(runs: Path, index: Index, read: list[str]) -> None:
    sample = SampleRun(runs / "now", name="nightly")
    found = find([runs], index)
    assert [run.state for run in found.runs][-1] is RunState.RUNNING
    read.clear()
    find([runs], index)
    assert read == ["now"]
    sample.end()
    assert [run.state for run in find([runs], index).runs][-1] is RunState.DONE


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, index: Index) -> None:
    with pytest.raises(PlanError, match="nowhere does not exist"):
        find([tmp_path / "nowhere"], index)
