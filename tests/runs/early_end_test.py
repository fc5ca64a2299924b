# SPDX-License-Identifier: Apache-2.0
"""Stops the tester in trials of a search through the reference gateway: the search finds the same, sooner."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any, Final

import pytest

from natxy.engine.messages.results import Cause
from natxy.engine.program import ENGINE
from natxy.events.listener import RunListener
from natxy.events.trials import AttemptStarted, TrialProgress
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialRecord
from natxy.run.run import run_plan
from tests.support import needs

pytestmark = [*needs.LAB, needs.cores(2), pytest.mark.long]

LIMIT_FPS: Final = 3000
TRIAL_S: Final = 2
STOPPED_S: Final = 0.3
STEP_FPS: Final = 250


def plan_of(ends_early: str) -> dict[str, Any]:
    search = {"kind": "binary", "min_rate": 1000, "max_rate": 5000, "error": STEP_FPS}
    # Shorter pauses than those of the test excuse nothing.
    timing = {"preset": "lab", "trial": f"{TRIAL_S}s", "ends_early": ends_early, "max_pause": f"{STOPPED_S / 2}s"}
    experiment = {
        "name": "x",
        "procedure": "throughput",
        # Half of what becomes due while the tester is stopped at the lowest rate.
        "gateway": {"driver": "reference", "max_rate": LIMIT_FPS, "rate_scope": "direction", "buffer_frames": 150},
        "search": search,
        "max_invalid": 20,
    }
    head = {"name": "p", "repeat": 1, "timing": timing | {"overrun_floor": "50ms"}, "testbed": {"kind": "lab"}}
    return head | {"experiments": [experiment]}


class StopsTheTester(RunListener):
    """Stops the engine once, in the first attempt at each step."""

    def __init__(self) -> None:
        self._stops = False

    def attempt_started(self, event: AttemptStarted) -> None:
        self._stops = event.attempt == 1

    def trial_progress(self, event: TrialProgress) -> None:
        if self._stops and 0 < event.sent < event.planned / 2:
            self._stops = False
            os.kill(engine := _engine(), signal.SIGSTOP)
            try:
                time.sleep(STOPPED_S)
            finally:
                os.kill(engine, signal.SIGCONT)


def _engine() -> int:
    tasks = Path("/proc/self/task").glob("*/children")
    children = [int(pid) for task in tasks for pid in task.read_text().split()]
    [engine] = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == ENGINE]
    return engine


def measured(folder: Path, ends_early: str) -> tuple[ExperimentRecord, list[TrialRecord]]:
    assert run_plan(resolve(Plan.model_validate(plan_of(ends_early))), folder / ends_early, StopsTheTester()) == 0
    [experiment] = RunReader(folder / ends_early).run.experiments
    return experiment, [trial for _, _, trial in experiment.all_trials]


def test_a_search_with_invalid_trials_finds_the_same_and_takes_less_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    times_s: dict[str, float] = {}
    for ends_early in ("never", "invalid", "lost"):
        experiment, trials = measured(tmp_path, ends_early)
        [found] = experiment.values
        assert found is not None
        assert abs(found - LIMIT_FPS) <= 2 * STEP_FPS
        paused = [trial.result for trial in trials if trial.result.cause == Cause.PAUSED]
        assert paused
        if ends_early == "never":
            assert not any(trial.result.ended_early for trial in trials)
        else:
            early = [result for result in paused if result.ended_early]
            assert early
            assert all(result.reason.endswith("then the trial was ended") for result in early)
            assert all(result.duration_s < TRIAL_S for result in early)
        times_s[ends_early] = mean(result.duration_s for result in paused)
    record_property("seconds of an invalid trial", str(times_s))
    assert times_s["invalid"] < times_s["never"]
