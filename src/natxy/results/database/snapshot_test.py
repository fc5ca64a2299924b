# SPDX-License-Identifier: Apache-2.0
"""Runs that go on while they are read, and runs in folders that cannot be written to."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from natxy.results import RESULTS_FILE, reader
from natxy.results.database import snapshot
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from natxy.system.process_owner import Owner
from tests.support.command import HANG_S
from tests.support.needs import NAMESPACES
from tests.support.sample_runs import SampleRun, Sought


def test_what_a_run_writes_between_two_queries_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = SampleRun(tmp_path / "run")
    first = sample.declare("first", title="first")
    sample.store.set_experiment_state(first, State.RUNNING)
    sample.declare("second", title="second")
    written: list[int] = []

    def read_and_write(*arguments: Any, **options: Any) -> Any:
        if not written:
            written.append(sample.experiment("third", Sought(200e3), title="third"))
            sample.store.set_experiment_state(first, State.DONE)
            sample.store.start_repetition(first + 1, 1)
            sample.end()
        return original(*arguments, **options)

    original = reader._read_experiment
    monkeypatch.setattr(reader, "_read_experiment", read_and_write)
    run = RunReader(tmp_path / "run").run
    assert run.state is RunState.RUNNING
    assert [(each.name, each.state, len(each.repetitions)) for each in run.experiments] == [
        ("first", State.RUNNING, 0),
        ("second", State.PENDING, 0),
    ]
    after = RunReader(tmp_path / "run").run
    assert (after.state, len(after.experiments)) == (RunState.DONE, 3)


def test_a_run_that_ends_while_it_is_read_did_not_die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = SampleRun(tmp_path / "run")

    def ends(owner: Owner) -> bool:
        sample.end()
        return False

    monkeypatch.setattr(Owner, "is_alive", ends)
    assert RunReader(tmp_path / "run").run.state is RunState.DONE


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder in which a killed run left all that it measured in the log of its database."""
    sample = SampleRun(tmp_path / "live")
    sample.experiment("forward", Sought(200e3), title="Forwarding")
    folder = shutil.copytree(tmp_path / "live", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    sample.end()
    assert {path.name for path in folder.iterdir()} == {RESULTS_FILE, f"{RESULTS_FILE}-wal"}
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(f"{(folder / RESULTS_FILE).as_uri()}?immutable=1", uri=True).execute("SELECT * FROM run")
    return folder


@NAMESPACES
@pytest.mark.parametrize("index", [False, True])
def test_a_killed_run_is_read_where_nothing_can_be_written(killed: Path, index: bool) -> None:
    if index:
        (killed / f"{RESULTS_FILE}-shm").write_bytes(bytes(32768))
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && ! touch "$1/x" && "$2" -m natxy report "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", killed, sys.executable],
        capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Forwarding" in done.stdout
    assert "report.html could not be written: Read-only file system" in done.stderr
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == before


def test_a_copy_is_of_one_moment(killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(source: Path, target: Path) -> None:
        original(source, target)
        if source.name == RESULTS_FILE and changes:
            changes.pop()()

    original = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", copy)
    changes = [lambda: (killed / f"{RESULTS_FILE}-wal").touch()] * 2
    (tmp_path / "copy").mkdir()
    snapshot._copied(killed / RESULTS_FILE, tmp_path / "copy").close()
    assert not changes
    changes = [lambda: (killed / f"{RESULTS_FILE}-wal").touch()] * 100
    with pytest.raises(sqlite3.OperationalError, match="changes all the time"):
        snapshot._copied(killed / RESULTS_FILE, tmp_path / "copy")


def test_an_index_that_is_a_link_is_not_followed(killed: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (killed / f"{RESULTS_FILE}-shm").symlink_to(tmp_path / "precious")
    assert RunReader(killed).run.experiments
    assert (tmp_path / "precious").read_bytes() == b"precious"
