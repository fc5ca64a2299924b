# SPDX-License-Identifier: Apache-2.0
"""Carries out a job on this machine: `natxy run`, or `natxy resume`, in a process and a session of its own."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from natxy.campaign.queue import Ending
from natxy.errors import PlanError
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from natxy.run.folder import sole_owner
from natxy.system.programs import end_session
from natxy.system.whole_file import whole_file

_LOOK_S: Final = 0.2
# To give everything back, a DUT behind ssh may have to be waited for.
_TO_CLEAN_UP_S: Final = 120.0
_ENDED: Final = {State.DONE, State.TESTER_LIMIT}
# With the worker's thread natxy is asked to end too, also where the worker was killed.
_ENDS_WITH_WORKER: Final = ("setpriv", "--pdeathsig", "TERM")
_TAIL_BYTES: Final = 4096


@dataclass(frozen=True)
class Task:
    """Holds what a worker needs for a job. `folder`: that of its run; `plan`: the resolved plan as YAML."""

    key: str
    folder: Path
    plan: str
    prepare: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Outcome:
    """Holds how an attempt ended; `exit_code` is natxy's, negative for a signal, None if it did not run."""

    ending: Ending
    exit_code: int | None = None
    reason: str = ""


def is_complete(folder: Path) -> bool:
    """Returns True when the run in a folder has nothing left to measure."""
    try:
        run = RunReader(folder, trials=False).run
    except PlanError:
        return False
    return run.state is RunState.DONE and all(experiment.state in _ENDED for experiment in run.experiments)


def carry_out(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more.

    A run that an earlier attempt began is resumed. This waits for one that is still ending.
    """
    task.folder.parent.mkdir(parents=True, exist_ok=True)
    if task.folder.is_dir():
        with sole_owner(task.folder, wait=True):
            pass
    if is_complete(task.folder):
        return Outcome(Ending.DONE)
    with task.folder.with_name(f"{task.folder.name}.log").open("ab") as log:
        begin = log.tell()
        code = _natxy(_arguments(task), log, wanted)
    if is_complete(task.folder):
        return Outcome(Ending.DONE, code)
    return Outcome(
        Ending.REFUSED if code == PlanError.exit_code else Ending.FAILED, code, _reason(code, Path(log.name), begin)
    )


def _arguments(task: Task) -> list[str]:
    before = [word for command in task.prepare for word in ("--before", shlex.join(command))]
    if _has_run(task.folder):
        return ["resume", str(task.folder), *before]
    _clear(task.folder)
    plan = task.folder.with_name(f"{task.folder.name}.yaml")
    with whole_file(plan) as out:
        out.write(task.plan.encode())
    return ["run", str(plan), "--output", str(task.folder), *before]


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


def _natxy(arguments: Sequence[str], log: IO[bytes], wanted: Callable[[], bool]) -> int:
    command = [*_ENDS_WITH_WORKER, sys.executable, "-m", "natxy", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
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


def _reason(code: int, log: Path, begin: int) -> str:
    """Returns what natxy said at its end; `begin` is where its output begins in the log."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    with log.open("rb") as file:
        file.seek(max(begin, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    said = [line.removeprefix("natxy: ") for line in lines if line.startswith(("natxy: ", "Exit code "))]
    return (said or lines or [f"exit code {code}"])[-1]
