# SPDX-License-Identifier: Apache-2.0
"""Carries out a job on this machine: `natxy run`, or `natxy resume`, in a process and a session of its own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from natxy.campaign.attempt.place import Holding
from natxy.campaign.attempt.task import Outcome, Task, ended, is_complete
from natxy.campaign.jobs.queue import Ending
from natxy.errors import PlanError
from natxy.results.reader import RunReader
from natxy.run.folder import sole_owner
from natxy.system.programs import end_session
from natxy.system.whole_file import whole_file

_LOOK_S: Final = 0.2
# To give everything back, a DUT behind ssh may have to be waited for.
_TO_CLEAN_UP_S: Final = 120.0
# With the worker's thread natxy is asked to end too, also where the worker was killed.
_ENDS_WITH_WORKER: Final = ("setpriv", "--pdeathsig", "TERM")


def carry_out_here(task: Task, wanted: Callable[[], bool], holding: Holding | None = None) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more. natxy inherits the `holding`.

    A run that an earlier attempt began is resumed. This waits for one that is still ending.
    """
    task.folder.parent.mkdir(parents=True, exist_ok=True)
    if task.folder.is_dir():
        try:
            with sole_owner(task.folder, wait=wanted):
                pass
        except PlanError as error:
            # A run that ends without a result removes its folder.
            if task.folder.is_dir():
                return Outcome(Ending.FAILED, None, str(error))
    if is_complete(task.folder):
        return Outcome(Ending.DONE)
    with task.log.open("ab") as log:
        begin = log.tell()
        code = _natxy(_arguments(task), log, wanted, holding)
    return ended(task, code, begin, refused=code == PlanError.exit_code and _is_refused(task, wanted))


def _arguments(task: Task) -> list[str]:
    if _has_run(task.folder):
        return ["resume", str(task.folder), *task.before]
    _clear(task.folder)
    with whole_file(_plan_file(task)) as out:
        out.write(task.plan.encode())
    return ["run", str(_plan_file(task)), "--output", str(task.folder), *task.before]


def _plan_file(task: Task) -> Path:
    return task.folder.with_name(f"{task.folder.name}.yaml")


def _is_refused(task: Task, wanted: Callable[[], bool]) -> bool:
    """Returns True when natxy takes the plan itself, which began no run, for wrong."""
    if _has_run(task.folder):
        return False
    with open(os.devnull, "ab") as log:
        return _natxy(["check", str(_plan_file(task))], log, wanted) == PlanError.exit_code


def _has_run(folder: Path) -> bool:
    try:
        RunReader(folder, trials=False)
    except PlanError:
        return False
    return True


def _clear(folder: Path) -> None:
    """Moves away what a killed attempt left before its run began."""
    if folder.is_dir() and any(folder.iterdir()):
        names = (folder.with_name(f"{folder.name}.left-{number}") for number in itertools.count(1))
        folder.rename(next(name for name in names if not name.exists()))


def _natxy(arguments: Sequence[str], log: IO[bytes], wanted: Callable[[], bool], holding: Holding | None = None) -> int:
    process = subprocess.Popen(
        [*_ENDS_WITH_WORKER, sys.executable, "-m", "natxy", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(holding.variables if holding else {})},
        pass_fds=[holding.descriptor] if holding else [],
        start_new_session=True,
    )
    try:
        while True:
            try:
                code = process.wait(_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if not wanted():
                    code = _end(process)
                    break
    except BaseException:
        _end(process)
        raise
    # What a killed natxy started in its session.
    end_session(process.pid)
    return code


def _end(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        return process.wait(_TO_CLEAN_UP_S)
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        return process.wait()
