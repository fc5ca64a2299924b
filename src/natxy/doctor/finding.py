# SPDX-License-Identifier: Apache-2.0
"""One thing that `natxy doctor` has to say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from natxy.dut.transport.base import Transport


@dataclass(frozen=True)
class Finding:
    """`ok`: False when natxy cannot measure like this, None when it can but something would be better, or cannot be
    known here, which `value` then says. Either has a `remedy`."""

    name: str
    ok: bool | None
    value: str
    remedy: str | None = None


def unless(ok: bool, remedy: str) -> str | None:
    return None if ok else remedy


def read_text(path: Path | str) -> str | None:
    """None where it cannot be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def read_there(path: Path | str, transport: Transport) -> str | None:
    """`read_text` of the machine that the transport leads to."""
    done = transport.run(["cat", str(path)], check=False)
    return done.stdout.strip() if done.returncode == 0 else None
