# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from natxy.errors import DutError
from natxy.locks.files import Holder, exclusive, holders
from tests.support.command import HANG_S

_HOLD: Final = """
import sys
from pathlib import Path
from natxy.locks.files import exclusive
from natxy.system import ledger
folder = Path(sys.argv.pop(1))
ledger.default_folder = lambda: folder
with exclusive(sys.argv[1:], lambda holder: None):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path)
    return tmp_path / "locks"


@pytest.fixture
def other(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Yields another process that holds `core 0`."""
    command = [sys.executable, "-c", _HOLD, str(folder.parent), "core 0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_what_is_held_is_listed_and_leaves_no_file(folder: Path) -> None:
    assert holders() == []
    with exclusive(["port 0000:41:00.0", "core 1", "gateway root@a/b"], lambda _: pytest.fail("nobody else holds it")):
        assert [(each.what, each.pid) for each in holders()] == [
            (what, os.getpid()) for what in ("core 1", "gateway root@a/b", "port 0000:41:00.0")
        ]
    assert holders() == []
    assert [*folder.iterdir()] == []


def test_a_look_at_the_locks_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    look = os.open(folder / "core 0", os.O_RDONLY | os.O_CREAT)
    fcntl.flock(look, fcntl.LOCK_SH)
    monkeypatch.setattr("natxy.locks.files.time.sleep", lambda _: os.close(look))
    with exclusive(["core 0"], lambda holder: pytest.fail(f"waits for {holder}")):
        pass


def test_another_process_is_waited_for_and_named(other: subprocess.Popen[str]) -> None:
    met: list[Holder] = []
    waits, got = threading.Event(), threading.Event()

    def told(holder: Holder) -> None:
        met.append(holder)
        waits.set()

    def wait() -> None:
        with exclusive(["core 0", "core 1"], told):
            got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(HANG_S)
    assert not got.is_set()
    assert other.stdin
    other.stdin.close()
    thread.join(HANG_S)
    assert got.is_set()
    assert [(holder.what, holder.pid) for holder in met] == [("core 0", other.pid)]
    assert met[0].command == "-c 'core 0'"


def test_a_killed_process_holds_nothing_any_more(other: subprocess.Popen[str]) -> None:
    assert [each.pid for each in holders()] == [other.pid]
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert holders() == []
    with exclusive(["core 0"], lambda _: pytest.fail("it is dead")):
        assert [each.pid for each in holders()] == [os.getpid()]


def test_many_that_want_the_same_have_it_one_after_the_other() -> None:
    inside, most = 0, 0

    def use(names: list[str]) -> None:
        nonlocal inside, most
        for _ in range(20):
            with exclusive(names, lambda _: None):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=use, args=(["a", other] if other else ["a"],)) for other in ("b", "c", "b", "")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
        assert not thread.is_alive()
    assert most == 1
    assert holders() == []


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    folder.parent.joinpath("locks").write_text("")
    with pytest.raises(DutError, match="locks/core 0 cannot be made: "), exclusive(["core 0"], lambda _: None):
        pass
