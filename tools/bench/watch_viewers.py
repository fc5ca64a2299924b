# SPDX-License-Identifier: Apache-2.0
"""Measures what viewers of `natxy watch` cost a run: its pacing in a lab with none and with twenty, in turn.

`python -m tools.bench.watch_viewers` prints a row for each; the server and the viewers are on the tester's machine.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from natxy.events.lines import EVENTS_FILE, event_of
from natxy.events.trials import TrialFinished
from natxy.results.trials import Purpose
from natxy.system.temporary_folder import temporary_folder
from tests.support.command import HANG_S, command
from tools.bench.peer_benchmark import show

VIEWERS: Final = 20
_ROUNDS: Final = 5
_PLAN: Final = """
name: watched
testbed: {kind: lab}
timing: {trial: 2s}
experiments:
  - name: forwarding
    gateway: linux-forward
    procedure: frame-loss-rate
    rates: [50k]
    repeat: 10
"""


def main() -> None:
    trials: dict[int, list[TrialFinished]] = {0: [], VIEWERS: []}
    with temporary_folder("natxy-bench-") as folder:
        (folder / "plan.yaml").write_text(_PLAN, encoding="utf-8")
        for number in range(_ROUNDS):
            for viewers, found in trials.items():
                found += measured(folder / "plan.yaml", folder / f"{number}-{viewers}", viewers)
    show("pacing of a run, by viewers of its page", [row(viewers, found) for viewers, found in trials.items()])


def measured(plan: Path, run: Path, viewers: int) -> Sequence[TrialFinished]:
    """Returns the trials of a run that is looked at."""
    with subprocess.Popen(command("run", plan, "--output", run), stdout=sys.stderr) as measuring:
        while not (run / EVENTS_FILE).exists():
            assert measuring.poll() is None
        with looked_at(run, viewers):
            assert measuring.wait() == 0
    lines = (run / EVENTS_FILE).read_bytes().splitlines()
    events = (event_of(line, EVENTS_FILE) for line in lines)
    return [each for each in events if isinstance(each, TrialFinished) and each.purpose is Purpose.MEASURE]


@contextmanager
def looked_at(run: Path, viewers: int) -> Iterator[None]:
    """Has so many viewers read the page of a run: a server, and one process that takes what it sends them."""
    if not viewers:
        yield
        return
    with subprocess.Popen(command("watch", run, "--port", "0"), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        looking = [sys.executable, "-m", "tools.bench.watch_viewers", address, str(viewers)]
        with subprocess.Popen(looking) as reader:
            yield
            reader.kill()
        server.kill()


async def look(address: str, viewers: int) -> None:
    await asyncio.gather(*(_view(address) for _ in range(viewers)))


async def _view(address: str) -> None:
    where = urlsplit(address)
    reader, writer = await asyncio.wait_for(asyncio.open_connection(where.hostname, where.port), HANG_S)
    writer.write(f"GET {where.path}events HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
    while await reader.read(2**16):
        pass


def row(viewers: int, trials: Sequence[TrialFinished]) -> dict[str, Any]:
    late_us = [trial.late_ns / 1000 for trial in trials]
    pauses_ms = [trial.tester_pause_s * 1000 for trial in trials]
    return {
        "name": f"{viewers} viewers",
        "trials": len(trials),
        "99 % late us, median": statistics.median(late_us),
        "most": max(late_us),
        "pause ms, median": statistics.median(pauses_ms),
        "most ": max(pauses_ms),
    }


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(look(sys.argv[1], int(sys.argv[2])))
    else:
        main()
