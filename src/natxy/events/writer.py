# SPDX-License-Identifier: Apache-2.0
"""Writes events as lines of JSON while they happen, without ever holding up the measurement or ending it."""

from __future__ import annotations

import errno
import math
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import RunFinished
from natxy.events.trials import TransfersFinished, TrialFinished, TrialProgress
from natxy.system.interrupts import serialized
from natxy.system.whole_file import appended_file
from natxy.untrusted.texts import safe_json

STDOUT: Final = "-"
# Trials tell their progress five times as often.
_PROGRESS_S: Final = 0.99
# What a pipe that is ready takes at once without blocking (POSIX).
_AT_ONCE: Final = select.PIPE_BUF
_MOST_PENDING: Final = 16 * 2**20
# A reader that catches up takes no more of the time of a trial with each event.
_MOST_AN_EVENT: Final = 256 * 2**10
_LAST_WAIT_S: Final = 2.0
_LASTING: Final = (TrialFinished, TransfersFinished, RunFinished)


class EventWriter(RunListener):
    """Writes each event as a line into the open file `fd`; on a disk, a finished trial stays even if the power fails.

    A reader of a pipe that is slow is not waited for. If the file cannot be written any longer, it ends there, and
    `tell` receives a sentence about it.
    """

    def __init__(self, fd: int, name: str, tell: Callable[[str], None]) -> None:
        self._fd: int | None = fd
        self._name = name
        self._tell = tell
        self._on_disk = stat.S_ISREG(os.fstat(fd).st_mode)
        self._pending = bytearray()
        self._progress_at = -math.inf

    def receive(self, event: Event) -> None:
        if self._fd is None:
            return
        if isinstance(event, TrialProgress):
            if event.clock_s - self._progress_at < _PROGRESS_S:
                return
            self._progress_at = event.clock_s
        self._pending += safe_json(serialized(event)).encode() + b"\n"
        self._write(self._fd, wait_s=0.0, lasting=isinstance(event, _LASTING))

    def finish(self) -> None:
        """Waits a moment for a reader that is behind."""
        if self._fd is not None:
            self._write(self._fd, wait_s=_LAST_WAIT_S, lasting=True)
            if self._pending:
                self._give_up(f"its reader did not take the last {len(self._pending):,} bytes")

    def _write(self, fd: int, *, wait_s: float, lasting: bool) -> None:
        end_s = time.monotonic() + wait_s
        left = 0 if self._on_disk or wait_s else max(0, len(self._pending) - _MOST_AN_EVENT)
        try:
            while len(self._pending) > left and self._takes_more(fd, end_s):
                at_once = len(self._pending) if self._on_disk else _AT_ONCE
                del self._pending[: os.write(fd, self._pending[:at_once])]
            if lasting and self._on_disk:
                os.fdatasync(fd)
        except OSError as error:
            self._give_up("its reader has closed it" if error.errno == errno.EPIPE else error.strerror or str(error))
            return
        if len(self._pending) > _MOST_PENDING:
            self._give_up(f"its reader is {len(self._pending) // 2**20} MiB behind")

    def _takes_more(self, fd: int, end_s: float) -> bool:
        if self._on_disk:
            return True
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        return bool(poll.poll(max(0.0, end_s - time.monotonic()) * 1000))

    def _give_up(self, why: str) -> None:
        self._fd, self._pending = None, bytearray()
        self._tell(f"no further events are written to {self._name}: {why}. The measurement goes on")


@contextmanager
def events_to(target: str, tell: Callable[[str], None]) -> Iterator[EventWriter]:
    """Yields a writer to what `--events` names: a new file, a pipe, or `-` for standard output.

    Raises PlanError when that cannot be written to.
    """
    name = "standard output" if target == STDOUT else target
    fd = os.dup(1) if target == STDOUT else _opened(target)
    try:
        writer = EventWriter(fd, name, tell)
        try:
            yield writer
        finally:
            writer.finish()
    finally:
        os.close(fd)


def _opened(target: str) -> int:
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        reason = "it is a folder" if error.errno == errno.EISDIR else error.strerror
        raise PlanError(
            f"--events {target} cannot be written to: {reason}; name a new file, a pipe, or - for standard output"
        ) from error
    about = os.fstat(fd)
    if stat.S_ISREG(about.st_mode) and about.st_size:
        os.close(fd)
        raise PlanError(f"--events {target} exists already; name a new file, so that nothing is overwritten")
    return fd


@contextmanager
def events_into(path: Path, tell: Callable[[str], None]) -> Iterator[EventWriter]:
    """Yields a writer that continues the file of a run, without the half of a line that a killed one left."""
    try:
        file = appended_file(path)
    except OSError as error:
        raise PlanError(f"{path} cannot be written to: {error.strerror}; move it away") from error
    with file:
        _end_with_a_line(file.fileno())
        yield EventWriter(file.fileno(), str(path), tell)


def _end_with_a_line(fd: int) -> None:
    end = os.fstat(fd).st_size
    while end:
        begin = max(0, end - 4096)
        newline = os.pread(fd, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            end = begin + newline + 1
            break
        end = begin
    os.ftruncate(fd, end)
