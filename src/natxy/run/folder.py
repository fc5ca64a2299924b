# SPDX-License-Identifier: Apache-2.0
"""Makes, locks and removes the folder of a run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from natxy.errors import PlanError

PLAN_FILE: Final = "plan.yaml"
ENGINE_LOG: Final = "engine.log"
# The commands of a plan may say what is not for all users of the machine.
_MODE: Final = 0o750
_LOOK_S: Final = 0.02
RUNS: Final = Path("runs")
"""The folder of the folders that `natxy run` makes."""


def make_folder(folder: Path) -> list[Path]:
    """Makes `folder` and its missing parents; returns those that it made, the innermost first.

    Raises PlanError when the folder is not empty, cannot be made or cannot be written to.
    """
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PlanError(f"{folder} exists already; choose another --output, so that no result is overwritten")
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(_MODE, exist_ok=True)
    except OSError as error:
        reason = error.strerror
        raise PlanError(f"the results folder {folder} cannot be made: {reason}; choose another --output") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PlanError(f"the results folder {folder} cannot be written to; choose another --output")
    return made


def remove_folder(folder: Path, made: Sequence[Path]) -> None:
    """Removes the files in `folder`, if it is still there, then the folders in `made`, which `make_folder` returned."""
    with suppress(FileNotFoundError):
        for file in folder.iterdir():
            file.unlink()
    # Another run may have begun to use an outer folder.
    with suppress(OSError):
        for path in made:
            path.rmdir()


@contextmanager
def sole_owner(folder: Path, *, wait: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Locks `folder` for this process; the kernel releases the lock when the process ends, however it ends.

    Raises PlanError when another process holds the lock and `wait`, which is asked again and again, returns False, or
    `folder` is not a folder, or no longer the one that it was before the lock was free.
    """
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise PlanError(f"{folder} is not a run folder: {error.strerror}") from error
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if not wait():
                    raise PlanError(f"another natxy is measuring into {folder}; wait until it has ended") from error
            time.sleep(_LOOK_S)
        if not _is_open_as(lock, folder):
            raise PlanError(f"{folder} was removed by another natxy, which ended there without a result; try again")
        yield
    finally:
        os.close(lock)


def _is_open_as(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False
