# SPDX-License-Identifier: Apache-2.0
"""Kills simulated runs with SIGKILL at any moment, and resumes them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.events.listener import RunListener
from natxy.events.run import ExperimentFinished
from natxy.events.trials import TrialFinished
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.run.resume_test import comparable
from natxy.run.run import resume_plan, run_plan
from tests.support.trials import Kept, begun, kept_trials

KILLS: Final = 20

PLAN: Final[dict[str, Any]] = {
    "name": "p",
    "seed": 7,
    "repeat": 6,
    "timing": "lab",
    "testbed": {"kind": "simulated", "noise": 0.05, "tester_limit": "900k"},
    "experiments": [
        {"name": "forwarding", "procedure": "throughput"},
        {"name": "rate", "procedure": "connection-rate", "connections": "20k"},
        {"name": "validated", "procedure": "validated-connection-rate", "connections": "20k"},
        {
            "name": "phase2",
            "procedure": "throughput",
            "connections": "20k",
            "phase1_rate": {"experiment": "rate", "percent": 50},
        },
        # Two of five phases 1 fail and are repeated.
        {
            "name": "risky",
            "procedure": "throughput",
            "connections": "20k",
            "phase1_rate": "198k",
            "max_invalid": 20,
        },
        # A failure that a stall explains is repeated, and the last of three attempts stands.
        {
            "name": "stalling",
            "procedure": "throughput",
            "gateway": {"driver": "simulated", "stalls": {"every": "1s", "duration": "12ms"}},
        },
        {"name": "beyond", "procedure": "throughput", "search": {"min_rate": "1M", "max_rate": "2M", "error": "1k"}},
        {
            "name": "deletion",
            "procedure": "tear-down-rate",
            "connections": "20k",
            "phase1_rate": "20k",
        },
    ],
}


def plan() -> ResolvedPlan:
    common = {"gateway": {"driver": "simulated"}, "search": {"min_rate": "1k", "max_rate": "800k", "error": 10}}
    searching = [
        common | experiment
        if experiment["procedure"] != "tear-down-rate"
        else {"gateway": common["gateway"]} | experiment
        for experiment in PLAN["experiments"]
    ]
    return resolve(Plan.model_validate(PLAN | {"experiments": searching}))


class TrialPipe(RunListener):
    """Writes a byte to a pipe for every trial that is stored."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def trial_finished(self, event: TrialFinished) -> None:
        os.write(self._pipe, b".")


def killed(moments: random.Random, work: Callable[[RunListener], object]) -> bool:
    """Kills a child process that does `work` after some trials and milliseconds; False if it had ended by then."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(TrialPipe(writing))
        finally:
            os._exit(0)
    os.close(writing)
    for _ in range(moments.randrange(80)):
        os.read(reading, 1)
    time.sleep(moments.uniform(0, 0.003))
    os.kill(child, signal.SIGKILL)
    os.close(reading)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(tmp_path: Path) -> None:
    run_plan(plan(), tmp_path / "unbroken", RunListener())
    expected = comparable(RunReader(tmp_path / "unbroken").run)
    moments = random.Random(1)
    kills = runs = 0
    while kills < KILLS:
        runs += 1
        folder = tmp_path / f"run{runs}"
        before: list[Kept] = []
        if killed(moments, partial(run_plan, plan(), folder)):
            if not begun(folder):
                continue
            kills += 1
            before = kept_trials(folder)
        while RunReader(folder).run.state != RunState.DONE and kills < KILLS:
            if killed(moments, partial(resume_plan, plan(), folder)):
                kills += 1
            after = kept_trials(folder)
            lost = set(before) - set(after)
            # A kill loses the connections: their phase 1 is measured again for the trial that needs them.
            assert len({(kept.experiment, kept.repetition, kept.step, kept.attempt) for kept in lost}) <= 1
            assert all(kept.experiment in {"validated", "phase2", "risky", "deletion"} for kept in lost)
            before = after
        if RunReader(folder).run.state != RunState.DONE:
            resume_plan(plan(), folder, RunListener())
        assert comparable(RunReader(folder).run) == expected
        counted = Counter(kept._replace(started_at="") for kept in kept_trials(folder))
        assert set(counted.values()) == {1}


def test_a_run_killed_after_its_last_trial_is_finished(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    class Late(RunListener):
        def experiment_finished(self, event: ExperimentFinished) -> None:
            if event.experiment == "deletion":
                raise Killed

    with pytest.raises(Killed):
        run_plan(plan(), tmp_path / "run", Late())
    assert RunReader(tmp_path / "run").run.state != RunState.DONE
    assert resume_plan(plan(), tmp_path / "run", RunListener()) == 3
    assert RunReader(tmp_path / "run").run.state == RunState.DONE
