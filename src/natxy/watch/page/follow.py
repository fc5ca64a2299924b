# SPDX-License-Identifier: Apache-2.0
"""Follows the events in the folder of a run, which may be measuring, have ended, or be resumed later."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from natxy.campaign import LOG_FILE
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.events.lines import EVENTS_FILE, event_of
from natxy.events.trials import TrialFinished
from natxy.report.charts.search import SearchStep
from natxy.results import RESULTS_FILE
from natxy.results.trials import Purpose
from natxy.search.outcome import Outcome
from natxy.untrusted.files import ForeignFolder
from natxy.watch.plain import PlainWatch
from natxy.watch.state import Second, State

MOST_LINES: Final = 300
"""The most lines of a log that a page shows."""
_AT_ONCE: Final = 2**20
_LONGEST_LINE: Final = 2**24


class Follower:
    """Keeps the state of a run, the last lines of its log, and the steps of the current experiment's searches.

    `course` has the seconds of the experiment's latest trial with two of them or more, which `course_title` names.
    """

    def __init__(self, folder: ForeignFolder) -> None:
        """Raises PlanError when the folder has no events, or those of another version."""
        self._folder = folder
        self._file = folder.path / EVENTS_FILE
        self._read_to = self._lines = 0
        self.state = State()
        self.last: Event | None = None
        self.log: deque[str] = deque(maxlen=MOST_LINES)
        self.steps: list[SearchStep] = []
        self.course: Sequence[Second] = ()
        self.course_title = ""
        self._text = io.StringIO()
        self._plain = PlainWatch(Console(file=self._text, markup=False, emoji=False, highlight=False))
        if not folder.has(EVENTS_FILE):
            if os.path.lexists(self._file):
                raise PlanError(f"{self._file} is a link, or no regular file of that folder's own: it is not read")
            if (folder.path / RESULTS_FILE).is_file():
                raise PlanError(f"{folder.path} is a run without {EVENTS_FILE}: `natxy report` shows it")
            raise PlanError(
                f"{folder.path}: nothing has begun there yet, neither a run ({EVENTS_FILE}) nor a campaign "
                f"({LOG_FILE}). Give the folder of one, and if it has only just been started, try again in some seconds"
            )
        self.read()

    def read(self) -> bool:
        """Takes what has been written since; returns whether anything was."""
        before = self._lines
        with self._folder.opened(EVENTS_FILE) as file:
            file.seek(self._read_to)
            rest = b""
            while chunk := file.read(_AT_ONCE):
                if len(rest) > _LONGEST_LINE:
                    raise PlanError(f"{self._file}:{self._lines + 1}: a line of more than {_LONGEST_LINE:,} bytes")
                # What has been searched for the line's end is not searched again.
                first, *further = chunk.split(b"\n")
                *whole, rest = [rest + first, *further]
                for line in whole:
                    self._lines += 1
                    self._read_to += len(line) + 1
                    where = f"{self._file}:{self._lines}"
                    if event := event_of(line, where):
                        self._take_at(where, event)
        return self._lines > before

    def _take_at(self, where: str, event: Event) -> None:
        """Raises PlanError for an event that does not follow from those before it, such as of an unknown experiment."""
        try:
            self._take(event)
        except (LookupError, ArithmeticError, ValueError) as error:
            raise PlanError(f"{where} does not fit the events before it: {error!r}") from error

    def _take(self, event: Event) -> None:
        before = self.state.experiment
        self.state.receive(event)
        self._plain.receive(event)
        self.log += self._text.getvalue().splitlines()
        self._text.seek(0)
        self._text.truncate()
        self.last = event
        if self.state.experiment is not before:
            self.steps, self.course = [], ()
        if len(self.state.course) > 1:
            # The next trial may begin before anyone has looked.
            self.course, self.course_title = self.state.course, self.state.course_title
        if isinstance(event, TrialFinished) and self.state.attempt:
            failed_to_prepare = event.purpose == Purpose.PREPARE and event.verdict == "fail"
            if event.purpose == Purpose.PREPARE and event.verdict == "pass":
                return
            self.steps.append(
                SearchStep(
                    repetition=event.repetition,
                    rate=self.state.attempt.rate,
                    outcome=Outcome.UNPREPARED if failed_to_prepare else Outcome(event.verdict.value),
                    step=f"step {event.step}, attempt {event.attempt}",
                    reason=event.reason,
                )
            )
