# SPDX-License-Identifier: Apache-2.0
"""The nice value of a session, which Linux's scheduler keeps in the session's autogroup (sched(7))."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHOWN: Final = re.compile(r"/(autogroup-\d+) nice (-?\d+)")


@dataclass(frozen=True)
class Autogroup:
    """Describes the group of `process`, an entry of /proc, as it was when it was read."""

    name: str
    niceness: int
    process: str

    def set(self, niceness: int) -> None:
        """Sets the nice value. Users other than root may lower the priority but not raise it again."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.process}/autogroup").write_text(str(niceness))


def own_autogroup() -> Autogroup | None:
    """Returns this process's group; None when the kernel groups no processes."""
    return _autogroup_of("self")


def autogroup_of(process: int) -> Autogroup | None:
    """Returns the group of a process; None when the kernel groups no processes, or when it has ended."""
    return _autogroup_of(str(process))


def find_autogroup(name: str) -> Autogroup | None:
    """Returns the group of that name, which the kernel gives only once; None when no process is in it any more."""
    groups = (_autogroup_of(entry) for entry in os.listdir("/proc") if entry.isdecimal())
    return next((group for group in groups if group and group.name == name), None)


def _autogroup_of(process: str) -> Autogroup | None:
    try:
        shown = _SHOWN.fullmatch(Path(f"/proc/{process}/autogroup").read_text().strip())
    except OSError:
        return None
    return Autogroup(shown[1], int(shown[2]), process) if shown else None
