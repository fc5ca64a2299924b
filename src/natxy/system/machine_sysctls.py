# SPDX-License-Identifier: Apache-2.0
"""Changes sysctls of this machine and of natxy's network namespace for a run.

Some sysctls (`nf_conntrack_max`, `net.core.wmem_default`) exist once for all network namespaces, so two runs at the
same time, or two labs of a run, may hold one together, at the same value; the last of them restores it.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Final

from natxy.errors import DutError
from natxy.system.ledger import Entry, Kind, Ledger, Place, here, own_network

_HOLDERS: Final = count(1)

PROC_SYS: Final = Path("/proc/sys")
REMEDY: Final = (
    "natxy sets sysctls of the network namespaces that it makes: start the container with `--privileged`, or run "
    "`mount -o remount,rw /proc/sys` in it"
)


def is_read_only() -> bool:
    """Returns True where /proc/sys is mounted read-only, as it is in most containers."""
    return bool(os.statvfs(PROC_SYS / "net").f_flag & os.ST_RDONLY)


def interface_word(interface: str) -> str:
    """Returns an interface's name as a word of a sysctl's name: its own dots are slashes there, as for sysctl(8)."""
    return interface.replace(".", "/")


def sysctl_file(name: str) -> str:
    """Returns the file of a sysctl below /proc/sys."""
    return name.translate(str.maketrans("./", "/."))


def sysctl_entry(name: str) -> str:
    """Returns what the ledger calls a sysctl."""
    return f"sysctl {name}"


def sysctl_undo(name: str, original: str) -> tuple[tuple[str, ...], ...]:
    """Returns the command that restores a sysctl on any system; on Linux if it still exists: an interface's go with
    that."""
    file = f"/proc/sys/{sysctl_file(name)}"
    script = '[ -d /proc/sys ] && [ ! -e "$1" ] || sysctl -qw "$2=$3"'
    return (("sh", "-c", script, "sh", file, name, original),)


class MachineSysctls:
    """Holds sysctls at values until it releases them. Names are those of sysctl(8), values are text."""

    def __init__(self, ledger: Ledger | None = None, *, root: Path = PROC_SYS) -> None:
        self._ledger = ledger or Ledger()
        self._root = root
        self._held: dict[str, Entry] = {}
        self._holder = next(_HOLDERS)

    def read(self, name: str) -> str:
        """Returns the value in force. Raises DutError when the kernel has no such setting."""
        try:
            return " ".join(self._path(name).read_text().split())
        except OSError as error:
            raise DutError(f"sysctl {name} cannot be read ({error.strerror}); is its kernel module loaded?") from error

    def hold(self, name: str, value: str) -> None:
        """Sets `name` to `value`. Raises DutError when a live run needs another value, or the kernel refuses."""
        entry = self._ledger.add(
            Kind.SETTING,
            sysctl_entry(name),
            _place(name),
            holder=self._holder,
            value=value,
            before=lambda: self.read(name),
            undo=lambda original: sysctl_undo(name, original),
        )
        try:
            self._write(name, value)
        except DutError:
            # The kernel refused this value, so the one before is in force, which may be an earlier one of this run.
            if name not in self._held:
                self._ledger.remove(entry)
            raise
        self._held[name] = entry

    def release(self, name: str) -> None:
        """Restores the original value of `name` when no other owner needs its own."""
        if entry := self._held.get(name):
            self._ledger.release(entry, lambda _: self._write(name, entry.original or ""))
            del self._held[name]

    def release_all(self) -> None:
        for name in list(self._held):
            self.release(name)

    def _path(self, name: str) -> Path:
        return self._root / sysctl_file(name)

    def _write(self, name: str, value: str) -> None:
        try:
            self._path(name).write_text(value)
        except OSError as error:
            raise DutError(
                f"sysctl {name} cannot be set to {value} ({error.strerror}); this needs root in the machine's "
                "initial network namespace, and a value that the kernel accepts"
            ) from error


def _place(name: str) -> Place:
    return own_network() if name.startswith("net.") else here()
