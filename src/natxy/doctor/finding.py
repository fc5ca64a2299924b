# SPDX-License-Identifier: Apache-2.0
"""The findings of `natxy doctor`, and reading the files that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from natxy.dut.transport.base import Transport


@dataclass(frozen=True)
class Finding:
    """One result of an examination.

    `ok` is False if natxy cannot measure without a remedy, and None if a result would be biased, or if this cannot be
    found out, which `value` then states. In both cases there is a `remedy`.
    """

    name: str
    ok: bool | None
    value: str
    remedy: str | None = None


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
