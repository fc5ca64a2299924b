# SPDX-License-Identifier: Apache-2.0
"""Names the process that owns a change of this machine, and the boot that it is of, so that natxy can undo what a
killed process left."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def _start_ticks(pid: int) -> int | None:
    """Returns the start time in clock ticks since boot (proc(5), /proc/pid/stat), None when no process runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field, the program's name, may contain spaces and brackets: count from its closing bracket.
    state, *fields = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else int(fields[18])


def boot_id() -> str:
    """Returns a text that is another one after each boot of this machine (random(4))."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True)
class Owner:
    """Identifies a process by its number and its start time: the kernel reuses numbers."""

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
        """Returns the owner that `str` wrote as `text`. Raises ValueError for any other text."""
        pid, start_ticks = text.split("-")
        return cls(int(pid), int(start_ticks))

    def __str__(self) -> str:
        return f"{self.pid}-{self.start_ticks}"

    def is_alive(self) -> bool:
        return _start_ticks(self.pid) == self.start_ticks
