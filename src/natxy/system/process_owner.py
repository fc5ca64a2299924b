# SPDX-License-Identifier: Apache-2.0
"""Which process owns a lab or a changed setting, so that what a killed process left can be told and removed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def _start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it doesn't run (proc(5), /proc/pid/stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field, the program's name, may hold spaces and brackets: count from its closing bracket.
    state, *fields = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else int(fields[18])


@dataclass(frozen=True)
class Owner:
    """A process, told from a later one with the same number by its start time."""

    pid: int
    start_ticks: int

    @classmethod
    def current(cls) -> Owner:
        pid = os.getpid()
        start_ticks = _start_ticks(pid)
        if start_ticks is None:
            raise RuntimeError("/proc is not mounted, or belongs to another process namespace")
        return cls(pid, start_ticks)

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The reverse of `str`; ValueError for anything else."""
        pid, start_ticks = text.split("-")
        return cls(int(pid), int(start_ticks))

    def __str__(self) -> str:
        return f"{self.pid}-{self.start_ticks}"

    def is_alive(self) -> bool:
        return _start_ticks(self.pid) == self.start_ticks
