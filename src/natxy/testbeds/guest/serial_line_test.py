# SPDX-License-Identifier: Apache-2.0
"""Both ends of a guest's line, with a socket between them instead of a kernel."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from natxy.errors import DutError
from natxy.testbeds.guest import serial_line as guest_line
from natxy.testbeds.guest.init import serve
from natxy.testbeds.guest.serial_line import GuestLine, LineBrokenError
from tests.support.command import HANG_S
from tests.support.processes import runs
from tests.support.timing import wait_until


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[GuestLine]:
    # On a busy machine the guest may answer late.
    monkeypatch.setattr(guest_line, "_GRACE_S", HANG_S)
    ours, theirs = socket.socketpair()

    def guest() -> None:
        with theirs, theirs.makefile("rb") as requests:
            serve(requests, lambda message: theirs.sendall(json.dumps(message).encode() + b"\n"))

    thread = threading.Thread(target=guest)
    thread.start()
    line = GuestLine(ours)
    line.wait_ready(HANG_S)
    yield line
    line.close()
    thread.join(HANG_S)
    assert not thread.is_alive()


def test_output_and_exit_code(line: GuestLine) -> None:
    done = line.run(["sh", "-c", "cat; echo said >&2; exit 3"], "given", HANG_S)
    assert (done.returncode, done.stdout, done.stderr) == (3, "given", "said\n")


def test_input_of_many_lines(line: GuestLine) -> None:
    text = "".join(f"{number} \u00e4\n" for number in range(20_000))
    assert line.run(["cat"], text, HANG_S).stdout == text


def test_output_that_is_not_text_is_replaced(line: GuestLine) -> None:
    done = line.run(["sh", "-c", r"printf 'a\377b'; printf '\303' >&2"], None, HANG_S)
    assert (done.stdout, done.stderr) == ("a\ufffdb", "\ufffd")
    assert line.run(["echo", "next"], None, HANG_S).stdout == "next\n"


def test_no_line_is_longer_than_a_terminal_takes() -> None:
    ours, theirs = socket.socketpair()
    with theirs, theirs.makefile("rb") as requests:
        with ours:
            theirs.sendall(b"{}\n" * 3 + b'{"returncode": 0, "stdout": "", "stderr": ""}\n')
            GuestLine(ours).run(["cat"], "x" * 2500, 5)
        lengths = [len(request) for request in requests]
    assert lengths[:2] == [1001, 1001]
    assert max(lengths) == 1001
    assert lengths[-1] == 1


def test_missing_program_and_one_without_an_end(line: GuestLine) -> None:
    with pytest.raises(DutError, match="natxy-no-such-program is not installed"):
        line.run(["natxy-no-such-program"], None, HANG_S)
    with pytest.raises(DutError, match=r"`sleep 600` was stopped after 0\.1 s"):
        line.run(["sleep", "600"], None, 0.1)
    assert line.run(["echo", "next"], None, HANG_S).stdout == "next\n"


def test_a_time_out_ends_every_process_group_of_a_session(line: GuestLine, tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = (
        "import pathlib, subprocess; sleeps = subprocess.Popen(['sleep', '600'], process_group=0); "
        f"pathlib.Path({str(child)!r}).write_text(str(sleeps.pid)); sleeps.wait()"
    )
    # The script needs time to begin, on a busy machine much more.
    limit_s = 1
    while not child.exists() or not child.read_text():
        with pytest.raises(DutError, match=f"was stopped after {limit_s} s"):
            line.run([sys.executable, "-c", script], None, limit_s)
        assert limit_s < HANG_S
        limit_s *= 2
    wait_until(lambda: not runs(int(child.read_text())))


def test_a_silent_guest_is_not_listened_to_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_line, "_GRACE_S", 0.05)
    ours, theirs = socket.socketpair()
    line = GuestLine(ours)
    with theirs:
        with pytest.raises(LineBrokenError):
            line.run(["true"], None, 0.05)
        with pytest.raises(LineBrokenError):
            line.run(["true"], None, 5)


def test_a_guest_that_ends() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(LineBrokenError):
        GuestLine(ours).wait_ready(5)
