# SPDX-License-Identifier: Apache-2.0
"""Kills a campaign on four labs, its runs and engines at random moments, and begins it again until it is complete.

`python -m tests.runs.campaign_kill_test FOLDER KILLS SEED` does the same with more kills, and prints what it found.
With `--scheduler` the campaign's workers are processes of Dask, which are killed as well, and so is their scheduler.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.campaign.attempt.task import is_complete
from natxy.system.ledger import Ledger
from tests.support import needs
from tests.support.command import HANG_S, command
from tests.support.processes import is_engine, runs

pytestmark = [*needs.LAB, pytest.mark.long]

KILLS: Final = 6
CONNECT_S: Final = 10
PLAN: Final = """
name: killed
timing: {preset: lab, trial: 100ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 3
defaults: {max_invalid: 50, search: {min_rate: 2k, max_rate: 4k, error: 500}, procedure: throughput}
experiments:
  - {name: forwarding, gateway: linux-forward}
"""
CAMPAIGN: Final = """
name: killed
max_failures: 1000
testbeds:
  one: {testbed: {kind: lab}, same_hardware: alike}
  two: {testbed: {kind: lab}, same_hardware: alike}
  three: {testbed: {kind: lab}, same_hardware: alike}
  four: {testbed: {kind: lab}, same_hardware: alike}
runs:
  - {name: x, plan: plan.yaml, on: [one, two, three, four]}
  - {name: y, plan: plan.yaml, on: [alike], after: [x], overrides: {repeat: 2}}
"""
TESTBEDS: Final = ("one", "two", "three", "four")


class DaskProcesses:
    """Runs a scheduler of Dask and a worker for each testbed, and starts those anew that were killed."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{port}"
        dask, quiet = str(Path(sys.executable).with_name("dask")), ["--dashboard-address", "127.0.0.1:0"]
        self._words = {"scheduler": [dask, "scheduler", "--host", "127.0.0.1", "--port", port, *quiet]}
        for testbed in TESTBEDS:
            alone = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *quiet]
            self._words[testbed] = [dask, "worker", self.address, "--resources", f"testbed:{testbed}=1", *alone]
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def keep(self) -> None:
        for name, words in self._words.items():
            if name not in self._processes or self._processes[name].poll() is not None:
                with (self._folder / f"{name}.log").open("a") as log:
                    self._processes[name] = subprocess.Popen(words, cwd=self._folder, stdout=log, stderr=log)

    def wait(self) -> None:
        """Waits until the scheduler has all workers."""
        began_s = time.monotonic()
        # A worker whose scheduler was killed ends a little later.
        self.keep()
        while not self._has_all_workers():
            assert time.monotonic() - began_s < HANG_S
            time.sleep(0.2)
            self.keep()

    def _has_all_workers(self) -> bool:
        from distributed import Client

        try:
            with Client(self.address, timeout=CONNECT_S) as client:
                return len(client.scheduler_info(n_workers=-1)["workers"]) == len(self._words) - 1
        except OSError:
            # It was killed a moment ago, or has just begun.
            return False

    @property
    def pids(self) -> Mapping[str, int]:
        return {name: process.pid for name, process in self._processes.items() if process.poll() is None}

    def close(self) -> None:
        # The scheduler last: a worker that loses it while it ends itself never does.
        for process in reversed(self._processes.values()):
            process.terminate()
            process.wait(HANG_S)


@dataclass
class Killing:
    """Counts the kills by victim, and knows the processes that there were."""

    folder: Path
    draw: random.Random
    left: int
    dask: DaskProcesses | None = None
    done: Counter[str] = field(default_factory=Counter)
    seen: set[int] = field(default_factory=set)
    sessions: int = 0

    def measure(self) -> None:
        """Begins the campaign again and again until it ends by itself after the last kill."""
        while self._session() != 0 or self.left:
            if not self.left and self.sessions > sum(self.done.values()) + 5:
                raise AssertionError((self.folder / "output").read_text())

    def _session(self) -> int:
        self.sessions += 1
        words = command("campaign", self.folder / "campaign.yaml", "--output", self.folder / "out")
        if self.dask:
            self.dask.wait()
            words += ["--scheduler", self.dask.address, "--trust-network"]
        with (self.folder / "output").open("a") as output:
            process = subprocess.Popen(words, stdout=output, stderr=output)
        self.seen.add(process.pid)
        began_s = time.monotonic()
        while process.poll() is None:
            assert time.monotonic() - began_s < HANG_S
            time.sleep(self.draw.uniform(0.2, 4))
            if self.dask:
                self.dask.keep()
            workers = self.dask.pids if self.dask else {}
            there = [each for pid in (process.pid, *workers.values()) for each in descendants(pid)]
            self.seen |= {*workers.values(), *(pid for pid, _ in there)}
            if self.left:
                victims = victims_of(process.pid, workers, there)
                self._kill(victims, self.draw.choice([*victims]))
        if self.left and process.returncode == 0:
            # All is measured: what a kill would have to spare. The rest of the kills meets a new campaign.
            (self.folder / "out").rename(self.folder / f"out-{self.sessions}")
        return process.returncode

    def _kill(self, victims: Mapping[str, list[int]], what: str) -> None:
        if victims[what]:
            os.kill(self.draw.choice(victims[what]), signal.SIGKILL)
            self.done[what] += 1
            self.left -= 1


def victims_of(campaign: int, workers: Mapping[str, int], there: list[tuple[int, bytes]]) -> dict[str, list[int]]:
    """Returns the processes that may be killed, by what they are; `there`: those below the campaign and the workers."""
    found = {
        "campaign": [campaign],
        "run": [pid for pid, words in there if (b"natxy" in words and b"--output" in words) or b"resume" in words],
        "engine": [pid for pid, _ in there if is_engine(pid)],
    }
    if workers:
        found["scheduler"] = [pid for name, pid in workers.items() if name == "scheduler"]
        found["worker"] = [pid for name, pid in workers.items() if name != "scheduler"]
    return found


def descendants(pid: int) -> list[tuple[int, bytes]]:
    """Returns the processes below one, with their command lines."""
    parents: dict[int, list[int]] = {}
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(entry))
    found: list[tuple[int, bytes]] = []
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            waiting.append(child)
            try:
                found.append((child, Path(f"/proc/{child}/cmdline").read_bytes()))
            except OSError:
                continue
    return found


def done_by_one(job: Path, asked: str) -> bool:
    """Says whether exactly one folder of a job for a testbed, or for its equals, has a complete run."""
    return sum(is_complete(each) for each in job.iterdir() if each.name.split("@")[0] == asked) == 1


def trials(folder: Path) -> list[tuple[float, float, str]]:
    """Returns begin, end and folder of each trial of the runs in a folder, also of those that a kill cut."""
    found = []
    for file in folder.rglob("events.jsonl"):
        begin: float | None = None
        last_s = 0.0
        for line in file.read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            if event["event"] == "run_started" and begin is not None:
                found.append((begin, last_s, str(file)))
                begin = None
            last_s = event["clock_s"]
            if event["event"] == "trial_started":
                begin = last_s
            elif event["event"] == "trial_finished" and begin is not None:
                found.append((begin, last_s, str(file)))
                begin = None
    return sorted(found)


def killed(folder: Path, kills: int, seed: int, *, with_dask: bool = False) -> Killing:
    """Carries the campaign out under so many kills, and asserts that it is complete and nothing is left."""
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    killing = Killing(folder, random.Random(seed), kills)
    if with_dask:
        with closing(DaskProcesses(folder)) as killing.dask:
            killing.measure()
    else:
        killing.measure()
    out = [each for each in folder.glob("out*") if each.is_dir()]
    for each in out:
        for testbed in TESTBEDS:
            assert done_by_one(each / "runs/x", testbed)
        assert done_by_one(each / "runs/y", "alike")
    found = trials(folder)
    assert len(found) > 20
    # All testbeds have the same cores.
    assert [pair for pair in pairwise(found) if pair[1][0] < pair[0][1]] == []
    for file in folder.rglob("events.jsonl"):
        ends = [json.loads(line).get("exit_code") for line in file.read_text().splitlines() if "run_finished" in line]
        assert ends.count(0) <= 1, f"{file}: measured again"
    assert not [pid for pid in killing.seen if runs(pid)]
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in listed if {str(pid) for pid in killing.seen} & set(name.split("-"))]
    assert not [entry for entry in Ledger().entries() if entry.process().pid in killing.seen]
    return killing


def test_every_run_is_complete_and_none_is_measured_twice_at_once(tmp_path: Path) -> None:
    killing = killed(tmp_path, KILLS, seed=1)
    assert sum(killing.done.values()) == KILLS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.runs.campaign_kill_test", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kills", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--scheduler", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True)
    found = killed(asked.folder, asked.kills, asked.seed, with_dask=asked.scheduler)
    print(f"{dict(found.done)} killed in {found.sessions} sessions; {len(trials(asked.folder))} trials, none at once")


if __name__ == "__main__":
    main()
