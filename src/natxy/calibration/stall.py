# SPDX-License-Identifier: Apache-2.0
"""A tester that stops in mid-trial, as one does whose machine has something else to do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from natxy.calibration.case import Case
from natxy.engine.messages.results import Progress
from natxy.engine.program import ENGINE
from natxy.plan.experiment import Experiment
from natxy.results.records import TrialKind
from natxy.run.events import RunListener

# The trial goes on for longer, so that what had been due in the meantime leaves as one burst.
STALL_S: Final = 0.1


class StallingListener(RunListener):
    """Stops the engine in the trials of the cases that are to be stalled."""

    def __init__(self, chosen: Iterable[Case]) -> None:
        self._stalled = {case.name for case in chosen if case.stalled}
        self._now = False

    def experiment_started(self, experiment: Experiment) -> None:
        self._now = experiment.name in self._stalled

    def progress(self, kind: TrialKind, progress: Progress) -> None:
        # Once a trial, after its beginning and well before its end.
        if self._now and 0 < progress.sent < 0.7 * progress.planned:
            _stall_engine()


def _stall_engine() -> None:
    """Stops this process's engine for STALL_S. Nothing happens where it has none."""
    for pid in _children():
        if _name(pid) == ENGINE:
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(STALL_S)
            finally:
                os.kill(pid, signal.SIGCONT)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
