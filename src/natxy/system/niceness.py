# SPDX-License-Identifier: Apache-2.0
"""Keeps this process off the cores that measure, and at a priority that does not disturb a trial."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

LOWEST: Final = 19
HIGHEST: Final = -20
_AUTOGROUP = Path("/proc/self/autogroup")


class Niceness:
    """Sets this process's nice value to `niceness`, and its cores to all but those to `avoid`, until `end`.

    Programs inherit both. Start those that measure or are measured within `foreground`, or, while a trial runs, within
    `beside_a_trial`. Without `active` nothing is set: nothing is measured, or only on other machines.
    """

    def __init__(self, niceness: int = LOWEST, *, active: bool = True) -> None:
        self._active = active
        self._niceness = niceness
        self._original = os.getpriority(os.PRIO_PROCESS, 0)
        self._cores = os.sched_getaffinity(0)
        self._avoided: frozenset[int] = frozenset()
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
        self._set(self._original, self._free_cores)
        try:
            yield
        finally:
            self._enter()

    def end(self) -> None:
        self._leave()

    def _enter(self) -> None:
        self._set(self._niceness, self._free_cores)

    @property
    def _free_cores(self) -> Collection[int]:
        return self._cores - self._avoided or self._cores

    def _leave(self) -> None:
        self._set(self._original, self._cores)

    def _set(self, niceness: int, cores: Collection[int]) -> None:
        if not self._active:
            return
        # Users other than root may lower the priority but not raise it again.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, niceness)
        # Where the kernel groups processes by session, a nice value counts only within the session.
        with contextlib.suppress(OSError):
            _AUTOGROUP.write_text(str(niceness))
        os.sched_setaffinity(0, cores)
