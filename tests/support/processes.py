# SPDX-License-Identifier: Apache-2.0
"""Finds the engines and the network namespaces of a running natxy."""

from __future__ import annotations

import subprocess
from pathlib import Path

from natxy.system.core_watch import TICK_S


def engines_of(pid: int) -> list[int]:
    """Returns the process ids of the engines that natxy's process `pid` started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if is_engine(int(child))]


def is_engine(pid: int) -> bool:
    # A process that is listed may have ended before its command line is read.
    try:
        return "natxy-engine" in Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return False


def runs(pid: int) -> bool:
    """Returns True unless the process has ended, whether or not its parent has asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def cpu_s(pid: int) -> float:
    """Returns the CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    user, system = map(int, fields[11:13])
    return (user + system) * TICK_S


def namespaces_of(pid: int) -> list[str]:
    """Returns the names of the network namespaces that natxy's process `pid` made."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if f"-{pid}-" in line]
