# SPDX-License-Identifier: Apache-2.0
"""Keeps this process off the cores that measure, and at a priority that does not disturb a trial."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Final

from natxy.system.autogroup import own_autogroup
from natxy.system.ledger import Kind, Ledger

LOWEST: Final = 19
HIGHEST: Final = -20


class Niceness:
    """Sets this process's nice value to `niceness`, and its cores to all but those to `avoid`, until `end`.

    Programs inherit both. Start those that measure or are measured within `foreground`, or, while a trial runs, within
    `beside_a_trial`. Without `active` nothing is set: nothing is measured, or only on other machines.

    The kernel restores both when the process ends. Where it groups processes by session, a nice value counts only
    within the session, so the session's own is set too, which outlives the process.
    """

    def __init__(self, niceness: int = LOWEST, *, active: bool = True, ledger: Ledger | None = None) -> None:
        self._active = active
        self._niceness = niceness
        self._original = os.getpriority(os.PRIO_PROCESS, 0)
        self._cores = os.sched_getaffinity(0)
        self._avoided: frozenset[int] = frozenset()
        self._ledger = ledger or Ledger()
        self._session = own_autogroup() if active else None
        self._sessions_original = 0
        if self._session:
            was = self._session.niceness
            self._entry = self._ledger.add(Kind.PRIORITY, self._session.name, before=lambda: str(was))
            self._sessions_original = int(self._entry.original or was)
        self._enter()

    def avoid(self, cores: Collection[int]) -> None:
        """Takes effect when the present `foreground` ends."""
        self._avoided = frozenset(cores)

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        """Gives this process its original nice value and cores."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    @contextlib.contextmanager
    def beside_a_trial(self) -> Iterator[None]:
        """Gives this process its original nice value; it still avoids the cores, where a trial may run."""
        self._set(self._original, self._sessions_original, self._free_cores)
        try:
            yield
        finally:
            self._enter()

    def end(self) -> None:
        self._set_own(self._original, self._cores)
        if session := self._session:
            self._ledger.release(self._entry, lambda _: session.set(self._sessions_original))

    def _enter(self) -> None:
        self._set(self._niceness, self._niceness, self._free_cores)

    @property
    def _free_cores(self) -> Collection[int]:
        return self._cores - self._avoided or self._cores

    def _leave(self) -> None:
        self._set(self._original, self._sessions_original, self._cores)

    def _set(self, niceness: int, sessions: int, cores: Collection[int]) -> None:
        self._set_own(niceness, cores)
        if self._session:
            self._session.set(sessions)

    def _set_own(self, niceness: int, cores: Collection[int]) -> None:
        if not self._active:
            return
        # Users other than root may lower the priority but not raise it again.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, niceness)
        os.sched_setaffinity(0, cores)
