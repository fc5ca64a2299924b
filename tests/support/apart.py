# SPDX-License-Identifier: Apache-2.0
"""Keeps the processes of pytest apart from what their machine has outside the clone, and from each other.

Each process has an empty home and, as root, an empty state folder and names of network namespaces of its own: it sees
no ledger and no lock of others, so that labs in several processes exist side by side.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# From <sched.h> and <sys/mount.h>; this Python has no names for them.
_CLONE_NEWNS: Final = 0x20000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_MS_BIND: Final = 0x1000
_EMPTIED: Final = (Path("/var/lib/natxy"), Path("/run/netns"))
_LOCK: Final = Path("/run/natxy-tests.lock")
_TURN: Final = Path("/run/natxy-tests-turn.lock")
_USERS: Final = Path("/etc/passwd")
_CACHE: Final = "NATXY_TESTS_CACHE"
"""Names the variable with the cache of the user who started pytest, which pytest's own processes pass on."""


def keep_apart() -> Path:
    """Gives this process, and the programs that it starts later, empty folders and a terminal of one kind.

    Returns the folder with the new home, which the caller removes at the end.
    """
    os.environ.setdefault(_CACHE, os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        os.environ.pop(name, None)
    os.environ["TERM"] = "xterm"
    folder = Path(tempfile.mkdtemp(prefix="natxy-tests-home-"))
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.environ["HOME"] = str(home)
    libc = ctypes.CDLL(None, use_errno=True)
    # A container may forbid it even to root; then tests that need network namespaces are skipped.
    if os.geteuid() != 0 or libc.unshare(_CLONE_NEWNS) != 0:
        return folder
    _mount(libc, None, Path("/"), None, _MS_REC | _MS_PRIVATE)
    for emptied in _EMPTIED:
        emptied.mkdir(mode=0o700, parents=True, exist_ok=True)
        _mount(libc, b"tmpfs", emptied, b"tmpfs", 0)
    _mount(libc, os.fsencode(_users_with(home, folder / "passwd")), _USERS, None, _MS_BIND)
    return folder


@contextmanager
def machine_held(alone: bool) -> Iterator[None]:
    """Waits until no other process of pytest on this machine holds it, or, unless `alone`, none that holds it alone."""
    with _LOCK.open("w") as lock:
        # Whoever waits keeps the turn: processes that need not be alone could overlap forever.
        with _TURN.open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@contextmanager
def with_what_make_built() -> Iterator[None]:
    """Shows the cache of the user who started pytest, where `make jool` and `make vm` build.

    A guest sees the files below the paths that they have on this machine, so that links elsewhere would not do.
    """
    if _CACHE not in os.environ:
        # A test's module that is run by hand sees it.
        yield
        return
    os.environ["XDG_CACHE_HOME"] = os.environ[_CACHE]
    try:
        yield
    finally:
        del os.environ["XDG_CACHE_HOME"]


def _users_with(home: Path, file: Path) -> Path:
    """Writes the database of users, in which `home` is that of this user, as sshd needs it; returns the file."""
    user = pwd.getpwuid(os.getuid())
    lines = [
        line.replace(f":{user.pw_dir}:", f":{home}:") if line.startswith(f"{user.pw_name}:") else line
        for line in _USERS.read_text().splitlines(keepends=True)
    ]
    file.write_text("".join(lines))
    file.chmod(0o644)
    return file


def _mount(libc: ctypes.CDLL, source: bytes | None, target: Path, kind: bytes | None, flags: int) -> None:
    if libc.mount(source, os.fsencode(target), kind, flags, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))
