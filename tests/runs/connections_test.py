# SPDX-License-Identifier: Apache-2.0
"""Holds thousands of connections to natxy's servers, each with half a request, as any local user can."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState
from tests.support.command import HANG_S, command, natxy

CONNECTIONS: Final = 20_000
HOLDERS: Final = 4
# Programs have 1,024 files, which is usual.
FEW_FILES: Final = ["prlimit", "--nofile=1024:1024"]
HELD: Final = """
import resource, select, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 50,) * 2)
poll, held = select.epoll(), {}
for number in range(count):
    each = socket.socket()
    each.setblocking(False)
    each.connect_ex(("127.0.0.1", port))
    held[each.fileno()] = each
    poll.register(each, select.EPOLLOUT | select.EPOLLET)
print("held", flush=True)
while True:
    for number, events in poll.poll():
        try:
            held[number].send(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nX: ")
        except OSError:
            pass
"""
PLAN: Final = """
name: long
seed: 7
repeat: 8
testbed: {kind: simulated}
experiments:
  - name: a
    procedure: throughput
    gateway: {driver: simulated, forward_loss_ratio: 0.00001}
    search: {max_rate: 1M, error: 0.1%}
"""

pytestmark = pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < CONNECTIONS // HOLDERS + 100,
    reason="so many files may not be open here",
)


@contextmanager
def held(port: int) -> Iterator[None]:
    argv = [sys.executable, "-S", "-c", HELD, str(port), str(CONNECTIONS // HOLDERS)]
    with ExitStack() as stack:
        holders = [stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE)) for _ in range(HOLDERS)]
        try:
            for each in holders:
                assert each.stdout
                assert each.stdout.readline() == b"held\n"
            yield
        finally:
            for each in holders:
                each.kill()


def figures(run: RunRecord) -> list[list[float | None]]:
    return [[each.value for each in experiment.repetitions] for experiment in run.experiments]


def test_a_run_with_metrics_measures_as_one_without(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    assert natxy("run", plan, "--output", tmp_path / "without").returncode == 0
    argv = [*FEW_FILES, *command("run", plan, "--output", tmp_path / "with", "--metrics", "0")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        found = None
        while not found:
            line = process.stdout.readline()
            assert line, "the run ended before it said where its metrics are"
            found = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line)
        with held(int(found[1])):
            output, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    without, with_ = (RunReader(tmp_path / name).run for name in ("without", "with"))
    assert with_.state == RunState.DONE
    assert figures(with_) == figures(without)


def test_a_viewer_gets_the_page_beside_them(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("repeat: 8", "repeat: 1"))
    assert natxy("run", plan, "--output", tmp_path / "run").returncode == 0
    argv = [*FEW_FILES, *command("watch", tmp_path / "run", "--port", "0")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            with held(int(address.split(":")[2].split("/")[0])):
                for _ in range(3):
                    with urllib.request.urlopen(address, timeout=HANG_S) as page:
                        assert b"long" in page.read()
        finally:
            process.terminate()
            _, said = process.communicate(timeout=HANG_S)
    assert said == ""
