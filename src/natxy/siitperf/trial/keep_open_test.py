# SPDX-License-Identifier: Apache-2.0
"""Tests the keeper of engines with programs that stand for an engine, without ports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from natxy.siitperf.trial import keep_open
from tests.support.command import HANG_S
from tests.support.timing import wait_until

# Writes when it begins and ends, takes a while to end, writes each request to standard error, and answers it with its
# own process.
ENGINE: Final = """
import json, os, sys, time
log = open(sys.argv[1], "a", buffering=1)
log.write("begins\\n")
for line in sys.stdin:
    request = json.loads(line)
    print(request["method"], "in", os.getcwd(), file=sys.stderr, flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": os.getpid()}), flush=True)
log.write("is asked to end\\n")
time.sleep(1)
log.write("has ended\\n")
"""


def call(log: Path, idle_s: float, code: str = ENGINE, *, mtu: int = 1500, errors: int | None = None) -> str:
    """Calls the engine for its ports. Returns its answer, and an empty text if it ended before it answered."""
    request = {"jsonrpc": "2.0", "id": 7, "method": "ports.open", "params": {"mtu": mtu}}
    name = f"test-{os.getpid()}-{log.parent.name}"
    command = [sys.executable, keep_open.__file__, name, str(idle_s), sys.executable, "-c", code, str(log)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as calling:
        assert calling.stdin
        assert calling.stdout
        calling.stdin.write(json.dumps(request) + "\n")
        calling.stdin.flush()
        answered = calling.stdout.readline()
        calling.stdin.close()
        assert calling.wait(HANG_S) == 0
    return answered


def engine(answered: str) -> int:
    return int(json.loads(answered)["result"])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_one_engine_serves_calls_until_nobody_calls(log: Path) -> None:
    assert engine(call(log, 1)) == engine(call(log, 1))
    wait_until(lambda: "has ended" in log.read_text())


def test_a_call_at_the_end_of_an_engine_waits_for_that_and_begins_another(log: Path) -> None:
    first = engine(call(log, 0.2))
    wait_until(lambda: "is asked" in log.read_text())
    began = time.monotonic()
    assert engine(call(log, 0.2)) != first
    assert time.monotonic() - began > 0.2
    assert log.read_text().splitlines()[:4] == ["begins", "is asked to end", "has ended", "begins"]


def test_an_engine_that_never_answers_is_not_started_again(log: Path) -> None:
    # It ends when it is asked: one that ends before the call is connected to its keeper is another error.
    assert call(log, 60, "import sys; open(sys.argv[1], 'a').write('x'); sys.stdin.readline()") == ""
    assert log.read_text() == "x"


def test_each_caller_gets_the_errors_of_its_requests(log: Path) -> None:
    written = []
    for mtu in (1500, 1520):
        with log.with_name(f"errors-{mtu}").open("w+") as errors:
            call(log, 5, mtu=mtu, errors=errors.fileno())
            errors.seek(0)
            written.append(errors.read().splitlines())
    assert written == [["ports.open in /"], ["ports.close in /", "ports.open in /"]]
    assert log.read_text() == "begins\n"
