# SPDX-License-Identifier: Apache-2.0
"""Carries out a job where its tester is."""

from __future__ import annotations

from collections.abc import Callable

from natxy.campaign.here import carry_out_here
from natxy.campaign.task import Outcome, Task
from natxy.campaign.there import carry_out_there


def carry_out(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more."""
    return carry_out_there(task, task.tester, wanted) if task.tester else carry_out_here(task, wanted)
