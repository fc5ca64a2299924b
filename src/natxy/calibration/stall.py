# SPDX-License-Identifier: Apache-2.0
"""A tester that stops in mid-trial, as one does whose machine has something else to do."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Final

from natxy.lab.engine_program import ENGINE

# The trial goes on for longer, so that what had been due in the meantime leaves as one burst.
STALL_S: Final = 0.1


def stall_engine() -> None:
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
