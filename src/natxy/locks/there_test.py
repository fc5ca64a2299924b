# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from natxy.locks.there import _LOCK, exclusive_there
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.sshd import Sshd, running_sshd
from tests.support.timing import wait_until

pytestmark = [needs.SSHD, pytest.mark.serial]


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with running_sshd(tmp_path / "sshd") as running:
        yield running


def test_a_machine_is_one_testers_at_a_time_and_free_without_its_connection(sshd: Sshd) -> None:
    waits, got, end = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        with exclusive_there(sshd.target, waits.set, set()):
            got.set()
            end.wait(HANG_S)

    thread = threading.Thread(target=other)
    with exclusive_there(sshd.target, lambda: None, set()):
        thread.start()
        assert waits.wait(HANG_S)
        assert not got.is_set()
    assert got.wait(HANG_S)
    sshd.stop()
    sshd.start()
    with exclusive_there(sshd.target, lambda: None, set()):
        end.set()
    thread.join(HANG_S)
    assert not thread.is_alive()


def test_a_machine_that_boots_stays_its_testers_and_who_waits_goes_on_waiting(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("natxy.locks.there._AGAIN_S", 0.05)
    monkeypatch.setattr("natxy.locks.there._OWNER_FIRST_S", 1.0)
    waits, got = threading.Event(), threading.Event()
    told = 0

    def wait() -> None:
        nonlocal told
        told += 1
        waits.set()

    def other() -> None:
        with exclusive_there(sshd.target, wait, set()):
            got.set()

    thread = threading.Thread(target=other)
    with exclusive_there(sshd.target, lambda: None, set()):
        thread.start()
        assert waits.wait(HANG_S)
        sshd.stop()
        sshd.start()
        # It waits again, for the same tester.
        wait_until(lambda: told == 2)
        assert not got.is_set()
    assert got.wait(HANG_S)
    thread.join(HANG_S)
    assert not thread.is_alive()


def test_who_waits_gets_a_machine_whose_tester_did_not_come_back(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.locks.there._AGAIN_S", 0.05)
    monkeypatch.setattr("natxy.locks.there._OWNER_FIRST_S", 0.1)
    monkeypatch.setattr("natxy.locks.there._Lock.take_again", lambda _: None)
    waits, got = threading.Event(), threading.Event()

    def other() -> None:
        with exclusive_there(sshd.target, waits.set, set()):
            got.set()

    thread = threading.Thread(target=other)
    with exclusive_there(sshd.target, lambda: None, set()):
        thread.start()
        assert waits.wait(HANG_S)
        sshd.stop()
        assert not got.wait(0.5)
        sshd.start()
        assert got.wait(HANG_S)
    thread.join(HANG_S)
    assert not thread.is_alive()


def test_a_machine_that_does_not_answer_is_left_to_the_run(sshd: Sshd) -> None:
    sshd.stop()
    with exclusive_there(sshd.target, lambda: pytest.fail("there is no answer"), set()):
        pass


def test_a_machine_that_cannot_name_its_lock_is_waited_for(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.locks.there._LOCK", re.sub(r"\$\([^)]*\)", "", _LOCK))
    waits, got = threading.Event(), threading.Event()

    def other() -> None:
        with exclusive_there(sshd.target, waits.set, set()):
            got.set()

    thread = threading.Thread(target=other)
    with exclusive_there(sshd.target, lambda: pytest.fail("nobody holds it"), set()):
        thread.start()
        assert waits.wait(HANG_S)
        assert not got.is_set()
    assert got.wait(HANG_S)
    thread.join(HANG_S)


def test_a_machine_with_two_names_is_reserved_once(sshd: Sshd, tmp_path: Path) -> None:
    own: set[str] = set()
    waits, free, freed = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        with exclusive_there(sshd.target, waits.set, set()):
            assert free.is_set()
            freed.set()

    thread = threading.Thread(target=other)
    with running_sshd(tmp_path / "again") as again:
        with exclusive_there(sshd.target, lambda: pytest.fail("nobody holds it"), own):
            with exclusive_there(again.target, lambda: pytest.fail("it is the session's own"), own):
                assert len(own) == 1
            thread.start()
            assert waits.wait(HANG_S)
            free.set()
        assert freed.wait(HANG_S)
    thread.join(HANG_S)
