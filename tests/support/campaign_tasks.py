# SPDX-License-Identifier: Apache-2.0
"""Has tasks of a campaign that workers in other processes can import."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.jobs.queue import Ending


def until_asked(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Says in the task's folder which process carries it out, until there is a file `end`."""
    (task.folder / f"begun-{os.getpid()}").touch()
    while wanted() and not (task.folder / "end").exists():
        time.sleep(0.02)
    return Outcome(Ending.DONE, 0, str(os.getpid()))
