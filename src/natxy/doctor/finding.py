# SPDX-License-Identifier: Apache-2.0
"""The findings of `natxy doctor`, and reading the files that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from natxy.dut.transport.base import Transport


@dataclass(frozen=True)
class Change:
    """A command that mends a finding without harm to what else the machine does, and the one that takes it back.

    `first` runs once before all changes that have it; it changes nothing that would have to be undone.
    """

    command: tuple[str, ...]
    undo: tuple[str, ...]
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One result of an examination.

    `ok` is False if natxy cannot measure without a remedy, and None if a result would be biased, or if this cannot be
    found out, which `value` then states. In both cases there is a `remedy`, which `changes` carry out if natxy may.
    """

    name: str
    ok: bool | None
    value: str
    remedy: str | None = None
    changes: tuple[Change, ...] = ()


def install(package: str) -> Change:
    """Returns how Debian's package is installed, and removed after a question that names all that goes with it."""
    # A daemon of the package would inherit the signals that natxy holds back meanwhile.
    apt = ("env", "--default-signal", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    return Change(
        command=(*apt, "install", "--yes", "--no-install-recommends", package),
        undo=("apt-get", "remove", package),
        # A fresh Debian has no lists of packages.
        first=("apt-get", "update"),
    )


def write(path: Path | str, text: str, before: str) -> Change:
    """Returns how a file of /sys gets another text, and the one that it has."""
    command = ("sh", "-c", 'echo "$0" > "$1"')
    return Change((*command, text, str(path)), (*command, before, str(path)))


def unless(ok: bool, remedy: str) -> str | None:
    """Returns the remedy, or None if `ok`."""
    return None if ok else remedy


def read_text(path: Path | str) -> str | None:
    """Returns the text of a file of this machine, or None if it cannot be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def read_there(path: Path | str, transport: Transport) -> str | None:
    """Returns the text of a file of the machine that the transport reaches, or None if it cannot be read."""
    done = transport.run(["cat", str(path)], check=False)
    return done.stdout.strip() if done.returncode == 0 else None
