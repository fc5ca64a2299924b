# SPDX-License-Identifier: Apache-2.0
"""Holds what a worker needs for a job, and says how an attempt at it ended."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from natxy.campaign.jobs.model import CampaignTester, Place
from natxy.campaign.jobs.queue import Ending
from natxy.errors import PlanError
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State

_MACHINE_ID: Final = Path("/etc/machine-id")
_ENDED: Final = {State.DONE, State.TESTER_LIMIT}
_TAIL_BYTES: Final = 4096
# natxy ends its run before the last bytes are written.
_FULL_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class Task:
    """Holds a job on a testbed. `folder`: that of its run; `plan`: the resolved plan as YAML; `tester`: where natxy
    runs, None for the worker's own machine; `place`: what labgrid has to give for it, to the `holder` of this name."""

    key: str
    folder: Path
    plan: str
    prepare: Sequence[Sequence[str]] = ()
    tester: CampaignTester | None = None
    place: Place | None = None
    holder: str = ""

    @property
    def log(self) -> Path:
        """Returns the file with what natxy prints."""
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def before(self) -> list[str]:
        """Returns the options of natxy for the commands that come first."""
        return [word for command in self.prepare for word in ("--before", shlex.join(command))]


@dataclass(frozen=True)
class Outcome:
    """Holds how an attempt ended; `exit_code` is natxy's, negative for a signal, None if it did not run."""

    ending: Ending
    exit_code: int | None = None
    reason: str = ""


def fingerprint(path: Path) -> str:
    """Returns a name for a path of this machine that no other path of any machine has."""
    # Machines that were set up alike share a name and paths, and containers may have no id.
    try:
        machine = _MACHINE_ID.read_text(encoding="ascii").strip()
    except OSError:
        machine = ""
    return hashlib.blake2b(f"{machine}:{platform.node()}:{path}".encode(), digest_size=8).hexdigest()


def is_complete(folder: Path) -> bool:
    """Returns True when the run in a folder has nothing left to measure."""
    try:
        run = RunReader(folder, trials=False).run
    except PlanError:
        return False
    return run.state is RunState.DONE and all(experiment.state in _ENDED for experiment in run.experiments)


def ended(task: Task, code: int, begin: int, *, refused: bool) -> Outcome:
    """Returns how an attempt ended whose output begins at `begin` in the log; `refused`: `natxy check` does so.

    Other errors with the exit code of a bad plan, such as a full disk, may be over at the next attempt.
    """
    if is_complete(task.folder):
        # `natxy resume` finds nothing to do where the run had ended before an earlier connection was lost.
        return Outcome(Ending.DONE, None if code == PlanError.exit_code else code)
    return Outcome(Ending.REFUSED if refused else Ending.FAILED, code, _reason(code, task.log, begin))


def last_lines(log: BinaryIO, begin: int = 0) -> list[str]:
    """Returns the lines at the end of a log that are not empty, as far as they are behind `begin`."""
    log.seek(max(begin, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
    return [line.strip() for line in log.read(_TAIL_BYTES).decode(errors="replace").splitlines() if line.strip()]


def _reason(code: int, log: Path, begin: int) -> str:
    """Returns what natxy said at its end; `begin` is where its output begins in the log."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    with log.open("rb") as file:
        lines = last_lines(file, begin)
    said = [line.removeprefix("natxy: ") for line in lines if line.startswith(("natxy: ", "Exit code "))]
    if not said and shutil.disk_usage(log.parent).free < _FULL_BYTES:
        # The log has no room for natxy's own words on that.
        return f"no space is left on the disk of {log.parent}; make room, then give the same command again"
    return (said or lines or [f"exit code {code}"])[-1]
