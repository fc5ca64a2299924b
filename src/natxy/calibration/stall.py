# SPDX-License-Identifier: Apache-2.0
"""Stops the tester during a trial, as a machine does that is busy with other work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from natxy.calibration.case import Case
from natxy.engine.program import ENGINE
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted
from natxy.events.trials import TrialProgress

# The trial lasts longer, so frames that become due in the meantime leave as one burst.
STALL_S: Final = 0.1


class StallingListener(RunListener):
    """Stops the engine once in every trial of the stalled cases."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._stalled = {case.name for case in cases if case.stalled}
        self._now = False

    def repetition_started(self, event: RepetitionStarted) -> None:
        self._now = event.experiment in self._stalled

    def trial_progress(self, event: TrialProgress) -> None:
        # The trial has begun, and will not end before the stall does.
        if self._now and 0 < event.sent < 0.7 * event.planned:
            _stall_engine()


def _stall_engine() -> None:
    """Stops this process's engine, if it has one, for STALL_S."""
    for pid in _children():
        if Path(f"/proc/{pid}/comm").read_text(errors="replace").strip() == ENGINE:
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(STALL_S)
            finally:
                os.kill(pid, signal.SIGCONT)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]
