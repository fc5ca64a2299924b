# SPDX-License-Identifier: Apache-2.0
"""Carries out a job where its tester is, with the place of its testbed."""

from __future__ import annotations

from collections.abc import Callable

from natxy.campaign.attempt.here import carry_out_here
from natxy.campaign.attempt.place import Holding, held_place
from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.attempt.there import carry_out_there
from natxy.campaign.jobs.queue import Ending
from natxy.errors import DutError


def carry_out(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more.

    Why natxy did not run is said in the log of what it prints.
    """
    outcome = _carried_out(task, wanted)
    if outcome.exit_code is None and outcome.reason:
        task.log.parent.mkdir(parents=True, exist_ok=True)
        with task.log.open("a", encoding="utf-8") as log:
            log.write(f"natxy: {outcome.reason}\n")
    return outcome


def _carried_out(task: Task, wanted: Callable[[], bool]) -> Outcome:
    if task.place is None:
        return _measured(task, wanted)
    try:
        with held_place(task.place, task.holder, wanted) as holding:
            return _measured(task, wanted, holding)
    except (DutError, OSError) as error:
        return Outcome(Ending.FAILED, None, str(error))


def _measured(task: Task, wanted: Callable[[], bool], holding: Holding | None = None) -> Outcome:
    if task.tester:
        return carry_out_there(task, task.tester, wanted)
    return carry_out_here(task, wanted, holding)
