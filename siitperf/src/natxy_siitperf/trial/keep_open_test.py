# SPDX-License-Identifier: Apache-2.0
"""Tests the keeper of engines with programs that stand for an engine, without ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from natxy_siitperf.trial import keep_open
from tests.support.command import HANG_S
from tests.support.timing import wait_until

# Writes when it begins and ends, does not end while there is a file `hold` beside its log, writes each request to
# standard error, and answers it with its own process.
ENGINE: Final = """
import json, os, sys, time
log = open(sys.argv[1], "a", buffering=1)
log.write("begins\\n")
for line in sys.stdin:
    request = json.loads(line)
    print(request["method"], "in", os.getcwd(), file=sys.stderr, flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": os.getpid()}), flush=True)
log.write("is asked to end\\n")
while os.path.exists(os.path.join(os.path.dirname(sys.argv[1]), "hold")):
    time.sleep(0.01)
log.write("has ended\\n")
"""


def call(log: Path, idle_s: float, code: str = ENGINE, *, mtu: int = 1500, errors: int | None = None) -> str:
    """Calls the engine for its ports. Returns its answer, and an empty text if it ended before it answered."""
    request = {"jsonrpc": "2.0", "id": 7, "method": "ports.open", "params": {"mtu": mtu}}
    name = f"test-{os.getpid()}-{log.parent.name}"
    # On a busy machine an engine may end late, and would be killed.
    own = log.with_name("keep_open.py")
    source, limit = Path(keep_open.__file__).read_text(), "\n_END_S: Final = 2.0\n"
    assert limit in source
    own.write_text(source.replace(limit, f"\n_END_S: Final = {HANG_S}\n"))
    command = [sys.executable, str(own), name, str(idle_s), sys.executable, "-c", code, str(log)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as calling:
        assert calling.stdin
        assert calling.stdout
        calling.stdin.write(json.dumps(request) + "\n")
        calling.stdin.flush()
        # The keeper may have asked for something itself, whose answer comes first. A caller that leaves before its own
        # answer ends the engine.
        while (answered := calling.stdout.readline()) and json.loads(answered)["id"] != request["id"]:
            pass
        calling.stdin.close()
        assert calling.wait(HANG_S) == 0
    return answered


def engine(answered: str) -> int:
    return int(json.loads(answered)["result"])


def all_ended(log: Path) -> bool:
    words = log.read_text().splitlines()
    return words.count("has ended") == words.count("begins")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_one_engine_serves_calls_until_nobody_calls(log: Path) -> None:
    # While the machine pauses, nobody calls either.
    idle_s = 1
    while engine(call(log, idle_s)) != engine(call(log, idle_s)):
        wait_until(lambda: all_ended(log))
        idle_s *= 4
        assert idle_s < 100
    wait_until(lambda: all_ended(log))


def test_a_call_at_the_end_of_an_engine_waits_for_that_and_begins_another(log: Path) -> None:
    hold = log.with_name("hold")
    hold.touch()
    first = engine(call(log, 1))
    wait_until(lambda: "is asked" in log.read_text())
    answers: list[str] = []
    second = threading.Thread(target=lambda: answers.append(call(log, 1)))
    second.start()
    second.join(0.5)
    assert second.is_alive()
    hold.unlink()
    second.join(HANG_S)
    (answer,) = answers
    assert engine(answer) != first
    assert log.read_text().splitlines()[:4] == ["begins", "is asked to end", "has ended", "begins"]


SQUATTER = """
import os, socket, sys, time
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as taken:
    taken.bind("\\0" + sys.argv[1])
    if sys.argv[2] == "listens":
        taken.listen()
    print("taken", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", ["listens", "does not listen"])
def test_another_user_who_takes_the_address_does_not_stop_a_call(log: Path, how: str) -> None:
    address = f"natxy-siitperf-test-{os.getpid()}-{log.parent.name}"
    with subprocess.Popen([sys.executable, "-c", SQUATTER, address, how], stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout
        assert squatter.stdout.readline() == b"taken\n"
        try:
            first, second = engine(call(log, 60)), engine(call(log, 60))
        finally:
            squatter.kill()
    assert first != second
    wait_until(lambda: all_ended(log))


STRANGER = """
import os, socket, sys, time
os.setuid(65534)
while True:
    with socket.socket(socket.AF_UNIX) as call:
        try:
            call.connect("\\0" + sys.argv[1])
        except ConnectionRefusedError:
            sys.exit()
    time.sleep(0.05)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_does_not_keep_an_engine(log: Path) -> None:
    call(log, 0.5)
    address = f"natxy-siitperf-test-{os.getpid()}-{log.parent.name}"
    subprocess.run([sys.executable, "-c", STRANGER, address], timeout=HANG_S, check=True)
    wait_until(lambda: all_ended(log))


@pytest.mark.parametrize("sent", [b"", b"\n"])
def test_a_caller_that_asks_for_nothing_does_not_keep_an_engine(log: Path, sent: bytes) -> None:
    """As if it was killed after it had started the engine, or before it asked."""
    own = log.with_name("keep_open.py")
    own.write_text(Path(keep_open.__file__).read_text().replace("_STALLED_S: Final = 10.0", "_STALLED_S: Final = 0.5"))
    name = f"test-{os.getpid()}-{log.parent.name}"
    code = f"""
import importlib.util, socket, sys
spec = importlib.util.spec_from_file_location("keep_open", {str(own)!r})
keep_open = importlib.util.module_from_spec(spec)
spec.loader.exec_module(keep_open)
keeper, _ = keep_open._started(chr(0) + "natxy-siitperf-{name}", 600, sys.argv[1:])
if {sent!r}:
    socket.send_fds(keeper, [{sent!r}], [2])
"""
    subprocess.run([sys.executable, "-c", code, sys.executable, "-c", ENGINE, str(log)], timeout=HANG_S, check=True)
    wait_until(lambda: log.exists() and all_ended(log))


def test_an_engine_that_never_answers_is_not_started_again(log: Path) -> None:
    # It ends when it is asked: one that ends before the call is connected to its keeper is another error.
    assert call(log, 60, "import sys; open(sys.argv[1], 'a').write('x'); sys.stdin.readline()") == ""
    assert log.read_text() == "x"


def test_each_caller_gets_the_errors_of_its_requests(log: Path) -> None:
    written = []
    for mtu in (1500, 1520):
        with log.with_name(f"errors-{mtu}").open("w+") as errors:
            answer = call(log, HANG_S, mtu=mtu, errors=errors.fileno())
            errors.seek(0)
            written.append(errors.read().splitlines())
    assert written == [["ports.open in /"], ["ports.close in /", "ports.open in /"]]
    assert log.read_text() == "begins\n"
    # Its keeper ends with it.
    os.kill(engine(answer), signal.SIGKILL)
