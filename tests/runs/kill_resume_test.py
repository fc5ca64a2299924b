# SPDX-License-Identifier: Apache-2.0
"""Kills a run in a lab at random moments, and resumes it until it is complete."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from natxy.system.ledger import Ledger
from tests.support import needs
from tests.support.command import HANG_S, command
from tests.support.processes import engines_of, is_engine
from tests.support.timing import wait_until
from tests.support.trials import Kept, begun, kept_trials

pytestmark = [*needs.LAB, pytest.mark.long]

KILLS: Final = 8
LONG_KILLS: Final = 100

PLAN: Final = """
name: killed
timing: {preset: lab, trial: 100ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 3
defaults:
  gateway: nftables
  connections: 500
  max_invalid: 50
  search: {min_rate: 2k, max_rate: 4k, error: 200}
experiments:
  - {name: forwarding, gateway: linux-forward, procedure: throughput, connections: null}
  - {name: rate, procedure: connection-rate}
  - {name: phase2, procedure: throughput, phase1_rate: 2k}
"""


class Session:
    """A process of `natxy run` or `natxy resume`."""

    def __init__(self, *arguments: str) -> None:
        python, *argv = command(*arguments)
        # -u: each line is read as soon as it is written.
        self._process = subprocess.Popen(
            [python, "-u", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.pid = self._process.pid
        self._output = ""

    def killed(self, trials: int, and_s: float) -> bool:
        """Kills the process `and_s` seconds after so many trials. Returns False if it had ended before."""
        assert self._process.stdout is not None
        while trials and (line := self._process.stdout.readline()):
            trials -= line.lstrip().startswith("step")
        time.sleep(and_s)
        engines = engines_of(self.pid) if self._process.poll() is None else []
        self._process.kill()
        self._output, _ = self._process.communicate(timeout=HANG_S)
        # No engine outlives natxy.
        wait_until(lambda: not any(map(is_engine, engines)))
        return self._process.returncode == -signal.SIGKILL

    def end(self) -> None:
        if self._process.poll() is None:
            self._output, _ = self._process.communicate(timeout=HANG_S)
        assert self._process.returncode == 0, self._output


def left_over(pids: list[int]) -> list[str]:
    """Returns the namespaces, and the entries of the ledger, that the processes with these ids left behind."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split()
    theirs = {str(pid) for pid in pids}
    recorded = [entry.what for entry in Ledger().entries() if entry.process().pid in pids]
    return [name for name in namespaces if theirs & set(name.split("-"))] + recorded


def test_a_lab_run_killed_at_random_moments_loses_and_repeats_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    moments = random.Random(2544)
    pids: list[int] = []
    kills = outlived = runs = 0
    while kills < KILLS:
        runs += 1
        folder = tmp_path / f"run{runs}"
        before: list[Kept] = []
        arguments: tuple[str, ...] = ("run", str(plan), "--output", str(folder))
        while kills < KILLS:
            session = Session(*arguments)
            pids.append(session.pid)
            cut_short = session.killed(moments.randrange(8), moments.uniform(0, 0.6))
            if not begun(folder):
                break
            kills += cut_short
            after = kept_trials(folder)
            lost = set(before) - set(after)
            # A kill loses the connections: their phase 1 is measured again for the trial that needs them.
            assert len({(kept.experiment, kept.repetition, kept.step, kept.attempt) for kept in lost}) <= 1
            assert all(kept.experiment == "phase2" for kept in lost)
            outlived += len(before) - len(lost)
            before = after
            arguments = ("resume", str(folder))
            if not cut_short:
                break
        if not begun(folder):
            continue
        if RunReader(folder).run.state != RunState.DONE:
            session = Session("resume", str(folder))
            pids.append(session.pid)
            session.end()
        run = RunReader(folder).run
        assert [experiment.state for experiment in run.experiments] == [State.DONE] * 3
        assert [len(experiment.values) for experiment in run.experiments] == [3] * 3
        assert set(Counter(kept._replace(started_at="") for kept in kept_trials(folder)).values()) == {1}
    assert left_over(pids) == []
    record_property("kills", f"{kills} of {runs} runs; {outlived} times a trial outlived a kill")


@pytest.mark.kills
def test_a_run_of_ten_minutes_killed_a_hundred_times(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    folder, plan = tmp_path / "run", tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("trial: 100ms", "trial: 1s").replace("repeat: 3", "repeat: 24"))
    moments = random.Random(600)
    pids: list[int] = []
    before: list[Kept] = []
    arguments = ["run", str(plan), "--output", str(folder)]
    kills = 0
    while True:
        session = Session(*arguments)
        pids.append(session.pid)
        if kills == LONG_KILLS:
            session.end()
            break
        # Half of the moments are within the start of a session, in which it finds what the killed one left.
        if not session.killed(0, moments.uniform(0, moments.choice([4, 10]))):
            session.end()
            break
        kills += 1
        if begun(folder):
            arguments = ["resume", str(folder)]
            after = kept_trials(folder)
            lost = set(before) - set(after)
            assert len({(kept.experiment, kept.repetition, kept.step, kept.attempt) for kept in lost}) <= 1
            assert all(kept.experiment == "phase2" for kept in lost)
            before = after
    run = RunReader(folder).run
    assert kills == LONG_KILLS, "the run is too short"
    assert run.state == RunState.DONE
    assert [len(experiment.values) for experiment in run.experiments] == [24] * 3
    assert set(Counter(kept._replace(started_at="") for kept in kept_trials(folder)).values()) == {1}
    assert left_over(pids) == []
    record_property("kills", f"{kills}")
