# SPDX-License-Identifier: Apache-2.0
"""Identifies network namespaces, with a name or without, and finds them again.

The kernel numbers them with cookies, which are unique until the next boot; inode numbers are used again.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAMED: Final = Path("/run/netns")
OWN: Final = Path("/proc/self/ns/net")
# From <asm-generic/socket.h> and <linux/sched.h>; Python 3.11 has no name for them.
_SO_NETNS_COOKIE: Final = 71
_CLONE_NEWNET: Final = 0x40000000


@dataclass(frozen=True)
class Process:
    """A process, and the one that started it or has adopted it."""

    pid: int
    parent: int
    name: str


def own_cookie() -> int:
    """Returns the cookie of this thread's network namespace; 0 before Linux 5.14, which has none."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            return int.from_bytes(probe.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), "little")
    except OSError:
        return 0


def cookie_of(path: Path) -> int | None:
    """Returns the cookie of the namespace that the file `path` stands for; None when it cannot be entered."""
    found: list[int] = []

    def enter() -> None:
        try:
            with path.open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) == 0:
                    found.append(own_cookie())
        except OSError:
            return

    # A namespace belongs to a thread, and this one ends.
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return found[0] if found else None


def find_namespace(cookie: int) -> Path | None:
    """Returns a file that stands for the namespace: this process's own, one with a name, or that of any process.

    None when there is no such namespace any more. Needs root.
    """
    seen: set[int] = set()
    for path in _candidates():
        try:
            inode = path.stat().st_ino
        except OSError:
            continue
        if inode not in seen and cookie_of(path) == cookie:
            return path
        seen.add(inode)
    return None


def processes_in(namespace: Path) -> list[Process]:
    """Returns the processes in the namespace that the file stands for, without those that have ended. Needs root."""
    try:
        inode = namespace.stat().st_ino
    except OSError:
        return []
    return [process for pid in _pids() if (process := _process_in(inode, pid))]


def _process_in(inode: int, pid: int) -> Process | None:
    folder = Path(f"/proc/{pid}")
    try:
        if (folder / "ns/net").stat().st_ino != inode:
            return None
        stat = (folder / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field, the program's name, may contain spaces and brackets (proc(5)).
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    state, parent, *_ = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else Process(pid, int(parent), name)


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]


def _candidates() -> Iterator[Path]:
    yield OWN
    if NAMED.is_dir():
        yield from sorted(NAMED.iterdir())
    yield from (Path(f"/proc/{pid}/ns/net") for pid in _pids())
