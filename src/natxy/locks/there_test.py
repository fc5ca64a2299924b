# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import DutError
from natxy.locks import there
from natxy.locks.there import _HAS_JUST_BOOTED, _LOCK, _Lock, exclusive_there
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.sshd import Sshd, running_sshd
from tests.support.timing import wait_until

pytestmark = [needs.SSHD, pytest.mark.lab]


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder that has the lock instead of /, which tests in other processes hold too."""
    folder = tmp_path / "machine"
    folder.mkdir()
    assert "exec 9</;" in _LOCK
    monkeypatch.setattr("natxy.locks.there._LOCK", _LOCK.replace("exec 9</;", f"exec 9<{folder};"))
    return folder


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with running_sshd(tmp_path / "sshd") as running:
        yield running


def unlost() -> None:
    pytest.fail("nobody else has the lock")


def test_a_machine_is_one_testers_at_a_time_and_free_without_its_connection(sshd: Sshd) -> None:
    waits, got, end = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        with exclusive_there(sshd.target, waits.set, unlost, set()):
            got.set()
            end.wait(HANG_S)

    thread = threading.Thread(target=other)
    with exclusive_there(sshd.target, lambda: None, unlost, set()):
        thread.start()
        assert waits.wait(HANG_S)
        assert not got.is_set()
    assert got.wait(HANG_S)
    sshd.stop()
    sshd.start()
    with exclusive_there(sshd.target, lambda: None, unlost, set()):
        end.set()
    thread.join(HANG_S)
    assert not thread.is_alive()


class Another(threading.Thread):
    """Reserves the machine for a moment, as another run does; `got` says that it was its turn."""

    def __init__(self, sshd: Sshd, waiting: Callable[[], None]) -> None:
        super().__init__()
        self.got = threading.Event()
        self._sshd, self._waiting = sshd, waiting

    def run(self) -> None:
        with exclusive_there(self._sshd.target, self._waiting, unlost, set()):
            self.got.set()

    def ends(self) -> None:
        """Asserts that it gets the machine and ends."""
        assert self.got.wait(HANG_S)
        self.join(HANG_S)
        assert not self.is_alive()


def owner_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the time that the owner of a machine has after a boot long enough, however busy this one is."""
    is_taken_again = threading.Event()
    ask, take_again = _Lock.ask, _Lock.take_again

    def late_ask(lock: _Lock, *, first: str = ":", **how: Any) -> Callable[[], str]:
        if first in ("sleep 0.1", "true && sleep 0.1"):
            assert is_taken_again.wait(HANG_S)
        return ask(lock, first=first, **how)

    def noted_take_again(lock: _Lock) -> str:
        if (said := take_again(lock)) == "held":
            is_taken_again.set()
        return said

    monkeypatch.setattr("natxy.locks.there._AGAIN_S", 0.05)
    monkeypatch.setattr("natxy.locks.there._OWNER_FIRST_S", 0.1)
    monkeypatch.setattr(_Lock, "ask", late_ask)
    monkeypatch.setattr(_Lock, "take_again", noted_take_again)


def test_a_machine_that_boots_stays_its_testers_and_who_waits_goes_on_waiting(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner_first(monkeypatch)
    waits = threading.Event()
    told = 0

    def wait() -> None:
        nonlocal told
        told += 1
        waits.set()

    another = Another(sshd, wait)
    with exclusive_there(sshd.target, lambda: None, unlost, set()):
        another.start()
        assert waits.wait(HANG_S)
        sshd.stop()
        sshd.start()
        # It waits again, for the same tester.
        wait_until(lambda: told == 2)
        assert not another.got.is_set()
    another.ends()


def test_a_machine_that_has_just_booted_stays_its_testers_when_another_run_starts(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner_first(monkeypatch)
    waits = threading.Event()
    another = Another(sshd, waits.set)
    with exclusive_there(sshd.target, lambda: None, unlost, set()):
        monkeypatch.setattr("natxy.locks.there._HAS_JUST_BOOTED", "true")
        sshd.stop()
        sshd.start()
        another.start()
        assert waits.wait(HANG_S)
        assert not another.got.is_set()
    another.ends()


@pytest.mark.parametrize(
    ("uptime", "booted"), [("5.31 9.80\n", 0), ("119.99 1.00\n", 0), ("120.00 1.00\n", 1), ("", 2)]
)
def test_a_machine_has_just_booted_for_two_minutes(tmp_path: Path, uptime: str, booted: int) -> None:
    file = tmp_path / "uptime"
    file.write_text(uptime)
    script = _HAS_JUST_BOOTED.replace("/proc/uptime", str(file))
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (booted, b"")


def test_who_waits_gets_a_machine_whose_tester_did_not_come_back(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.locks.there._AGAIN_S", 0.05)
    monkeypatch.setattr("natxy.locks.there._OWNER_FIRST_S", 0.1)
    monkeypatch.setattr("natxy.locks.there._Lock.take_again", lambda _: "")
    waits = threading.Event()
    another = Another(sshd, waits.set)
    with exclusive_there(sshd.target, lambda: None, unlost, set()):
        another.start()
        assert waits.wait(HANG_S)
        sshd.stop()
        assert not another.got.wait(0.5)
        sshd.start()
        another.ends()


def answering(monkeypatch: pytest.MonkeyPatch, answers: Iterator[list[str]]) -> None:
    """Lets a machine give these answers; an empty one is none at all. Between two of them 100 s pass."""
    now_s = 0.0

    class Clock:
        monotonic = staticmethod(lambda: now_s)

        @staticmethod
        def sleep(_: float) -> None:
            nonlocal now_s
            now_s += 100

    def ask(*_: object, **__: object) -> Callable[[], str]:
        if lines := next(answers):
            return iter(lines).__next__
        raise DutError("no answer")

    monkeypatch.setattr("natxy.locks.there.time", Clock)
    monkeypatch.setattr(_Lock, "ask", ask)


def test_who_waits_goes_on_waiting_however_often_the_machine_boots(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    boots = [["at 1", "busy", ""], *([[]] * 5)]
    answering(monkeypatch, iter([*boots, *boots, *boots, ["at 1", "held"]]))
    own: set[str] = set()
    with exclusive_there(sshd.target, lambda: None, unlost, own):
        assert own == {"at 1"}


def test_a_machine_that_another_run_had_and_that_is_gone_is_not_measured(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, iter([["at 1", "busy", ""], *([[]] * 100)]))
    with (
        pytest.raises(DutError, match="has not answered for 600 s, and another run held it"),
        exclusive_there(sshd.target, lambda: None, unlost, set()),
    ):
        pytest.fail("another run may still hold it")


@contextmanager
def somebody(own_machine: Path) -> Iterator[None]:
    """Holds the lock of this machine."""
    words = ["flock", str(own_machine), "sh", "-c", "echo held; exec cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield


def test_a_lost_lock_that_somebody_has_is_told_once_and_taken_again(
    sshd: Sshd, own_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("natxy.locks.there._AGAIN_S", 0.05)
    monkeypatch.setattr("natxy.locks.there._BUSY_AGAIN_S", 0.05)
    take_again = _Lock.take_again
    somebody_has_it = threading.Event()
    said: list[str] = []
    lost: list[None] = []

    def late_take_again(lock: _Lock) -> str:
        assert somebody_has_it.wait(HANG_S)
        said.append(take_again(lock))
        return said[-1]

    monkeypatch.setattr(_Lock, "take_again", late_take_again)
    with exclusive_there(sshd.target, lambda: None, lambda: lost.append(None), set()):
        sshd.cut()
        with somebody(own_machine):
            somebody_has_it.set()
            wait_until(lambda: said.count("busy") >= 3)
        wait_until(lambda: "held" in said)
    assert len(lost) == 1


def test_who_tries_to_get_a_lock_again_leaves_no_program_that_waits(own_machine: Path) -> None:
    script = there._LOCK.replace("$if_busy", "exit")
    with somebody(own_machine):
        done = subprocess.run(
            ["sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, check=True
        )
    assert done.stdout.splitlines()[1:] == ["busy"]


def test_a_machine_that_does_not_answer_is_left_to_the_run(sshd: Sshd) -> None:
    sshd.stop()
    with exclusive_there(sshd.target, lambda: pytest.fail("there is no answer"), unlost, set()):
        pass


def test_a_machine_that_cannot_name_its_lock_is_waited_for(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.locks.there._LOCK", re.sub(r"\$\([^)]*\)", "", there._LOCK))
    waits = threading.Event()
    another = Another(sshd, waits.set)
    with exclusive_there(sshd.target, lambda: pytest.fail("nobody holds it"), unlost, set()):
        another.start()
        assert waits.wait(HANG_S)
        assert not another.got.is_set()
    another.ends()


def test_a_machine_with_two_names_is_reserved_once(sshd: Sshd, tmp_path: Path) -> None:
    own: set[str] = set()
    waits = threading.Event()
    another = Another(sshd, waits.set)
    with running_sshd(tmp_path / "again") as again:
        with exclusive_there(sshd.target, lambda: pytest.fail("nobody holds it"), unlost, own):
            with exclusive_there(again.target, lambda: pytest.fail("it is the session's own"), unlost, own):
                assert len(own) == 1
            another.start()
            assert waits.wait(HANG_S)
            assert not another.got.is_set()
        another.ends()
