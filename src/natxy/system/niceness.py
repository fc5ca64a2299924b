# SPDX-License-Identifier: Apache-2.0
"""Keeps the control plane out of the way of the cores that measure."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

LOWEST: Final = 19
HIGHEST: Final = -20
_AUTOGROUP = Path("/proc/self/autogroup")


class Background:
    """This process at `niceness` and off `avoid`ed cores, until `end`.

    Programs inherit both, so start those that measure or are measured within `foreground`, or, while something is being
    measured, within `beside_a_trial`. Where nothing is measured, in virtual time or on other machines, there is nothing
    to make way for: not `active`.
    """

    def __init__(self, niceness: int = LOWEST, *, active: bool = True) -> None:
        self._active = active
        self._background = niceness
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)
        self._cores = os.sched_getaffinity(0)
        self._avoided: frozenset[int] = frozenset()
        self._enter()

    def avoid(self, cores: Collection[int]) -> None:
        """From the end of the present `foreground` on."""
        self._avoided = frozenset(cores)

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        self._leave()
        try:
            yield
        finally:
            self._enter()

    @contextlib.contextmanager
    def beside_a_trial(self) -> Iterator[None]:
        """The priority of `foreground`, still off the avoided cores: a trial may be under way on them."""
        self._set(self._niceness, self._free_cores)
        try:
            yield
        finally:
            self._enter()

    def end(self) -> None:
        self._leave()

    def _enter(self) -> None:
        self._set(self._background, self._free_cores)

    @property
    def _free_cores(self) -> Collection[int]:
        return self._cores - self._avoided or self._cores

    def _leave(self) -> None:
        self._set(self._niceness, self._cores)

    def _set(self, niceness: int, cores: Collection[int]) -> None:
        if not self._active:
            return
        # Who is not root may lower the priority but not raise it again.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, niceness)
        # Where the kernel groups processes by session, a nice value counts only within the session.
        with contextlib.suppress(OSError):
            _AUTOGROUP.write_text(str(niceness))
        os.sched_setaffinity(0, cores)
