# SPDX-License-Identifier: Apache-2.0
"""Writes into docs/how-to/watch.md what viewers of `natxy watch` cost a run: `python -m tools.bench.watch_viewers`.

The pacing of a run in a lab is measured with none and with twenty, in turn. The server and the viewers are on the
tester's machine, the viewers on other cores than the tester's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from natxy.events.lines import EVENTS_FILE, event_of
from natxy.events.trials import TrialFinished
from natxy.plan.testbeds.cores import assign_cores
from natxy.results.trials import Purpose
from natxy.system.machine import describe_machine
from natxy.system.temporary_folder import temporary_folder
from tests.support.command import HANG_S, command
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/how-to/watch.md")
VIEWERS: Final = 20
_ROUNDS: Final = 5
_TRIALS: Final = 10
_LOOK_S: Final = 0.05
_PLAN: Final = """
name: watched
testbed: {{kind: lab}}
timing: {{preset: lab, trial: 2s}}
repeat: {trials}
experiments:
  - {{name: forwarding, gateway: linux-forward, procedure: pdv, rate: 50k, max_invalid: 50}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.watch_viewers", description=__doc__)
    parser.add_argument("--viewers", type=int, default=VIEWERS)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often each run is measured")
    parser.add_argument("--trials", type=int, default=_TRIALS, help="how many trials a run has")
    parser.add_argument("--look", metavar="ADDRESS", help="be the viewers of this page, and measure nothing")
    asked = parser.parse_args()
    if asked.look:
        asyncio.run(look(asked.look, asked.viewers))
        return
    trials: dict[int, list[TrialFinished]] = {0: [], asked.viewers: []}
    with temporary_folder("natxy-bench-") as folder:
        (folder / "plan.yaml").write_text(_PLAN.format(trials=asked.trials), encoding="utf-8")
        for number in range(asked.rounds):
            for viewers, found in trials.items():
                found += measured(folder / "plan.yaml", folder / f"{number}-{viewers}", viewers)
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "viewers", table(trials)), encoding="utf-8")


def measured(plan: Path, run: Path, viewers: int) -> Sequence[TrialFinished]:
    """Returns the trials of a run that is looked at as soon as it has events; the first trial may have begun."""
    with subprocess.Popen(command("run", plan, "--output", run), stdout=sys.stderr) as measuring:
        while not (run / EVENTS_FILE).exists():
            assert measuring.poll() is None
            time.sleep(_LOOK_S)
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
        try:
            assert server.stdout
            address = server.stdout.readline().strip()
            words = [sys.executable, "-m", "tools.bench.watch_viewers", "--look", address, "--viewers", str(viewers)]
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as looking:
                try:
                    assert looking.stdout
                    assert looking.stdout.readline(), "the viewers see nothing"
                    yield
                    assert looking.poll() is None, "the viewers have left before the run's end"
                finally:
                    looking.kill()
        finally:
            server.kill()


async def look(address: str, viewers: int) -> None:
    """Reads what the page sends to so many viewers, and says when each of them has got something.

    Browsers are elsewhere, so that their own work is not to be seen in the tester's pacing.
    """
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, usable.difference(assign_cores(usable).tester) or usable)
    sees = asyncio.Barrier(viewers + 1)
    async with asyncio.TaskGroup() as views:
        for _ in range(viewers):
            views.create_task(_view(address, sees))
        await asyncio.wait_for(sees.wait(), HANG_S)
        print(f"{viewers} viewers see the run", flush=True)


async def _view(address: str, sees: asyncio.Barrier) -> None:
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(f"GET {where.path}events HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] == b"200"
    await reader.readuntil(b"data:")
    await sees.wait()
    while await reader.read(2**16):
        pass


def table(trials: Mapping[int, Sequence[TrialFinished]]) -> Iterator[str]:
    yield "| viewers | trials | 99 % of frames left within, median | most | tester paused for, median | most |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for viewers, found in trials.items():
        late_us = [trial.late_ns / 1000 for trial in found]
        pauses_ms = [trial.tester_pause_s * 1000 for trial in found]
        values = [
            f"{typical(values):,.{digits}f} {unit}"
            for values, unit, digits in ((late_us, "µs", 2), (pauses_ms, "ms", 1))
            for typical in (statistics.median, max)
        ]
        yield f"| {viewers} | {len(found)} | " + " | ".join(values) + " |"
    machine = describe_machine()
    yield ""
    yield f"Measured on {machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}."


if __name__ == "__main__":
    main()
