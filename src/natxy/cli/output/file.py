# SPDX-License-Identifier: Apache-2.0
"""Writes the files that a user names, for example with `--output`. It replaces no file of a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from natxy.errors import PlanError
from natxy.events.lines import EVENTS_FILE
from natxy.results import RESULTS_FILE
from natxy.results.pcap import FOREIGN_FILE
from natxy.run.folder import ENGINE_LOG, PLAN_FILE
from natxy.system.whole_file import appended_file, whole_file

_OF_A_RUN: Final = {
    PLAN_FILE,
    FOREIGN_FILE,
    EVENTS_FILE,
    ENGINE_LOG,
    *(RESULTS_FILE + end for end in ("", "-wal", "-shm")),
}
_DATABASE: Final = b"SQLite format 3\0"
# Links here lead to what this process has open, such as /dev/stdout, and not to files of others.
_DEVICES: Final = {Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")}


@contextmanager
def output_file(path: Path, *, append: bool = False) -> Iterator[BinaryIO]:
    """Replaces a file by what the context writes, or with `append` adds it to the file; a link is not followed.

    A pipe or a device is written to as it is. Raises PlanError when the file belongs to a run or cannot be written.
    """
    try:
        if _belongs_to_a_run(path):
            raise PlanError(f"{path} belongs to a run and would be lost; choose another file")
        with _opened(path, append=append) as out:
            yield out
    except OSError as error:
        raise PlanError(f"{path} cannot be written: {error.strerror}") from error


def _opened(path: Path, *, append: bool) -> AbstractContextManager[BinaryIO]:
    if is_stream(path):
        return path.open("wb")
    return appended_file(path) if append else whole_file(path)


def is_stream(path: Path) -> bool:
    """Returns True for a pipe or a device, which is written to and not replaced."""
    return (path.parent in _DEVICES and path.exists()) or (
        os.path.lexists(path) and stat.S_ISFIFO(path.lstat().st_mode)
    )


def _belongs_to_a_run(path: Path) -> bool:
    if path.name in _OF_A_RUN and os.path.lexists(path.parent / RESULTS_FILE):
        return True
    if not os.path.lexists(path) or not stat.S_ISREG(path.lstat().st_mode):
        return False
    with path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE
