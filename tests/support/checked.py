# SPDX-License-Identifier: Apache-2.0
"""Runs `natxy check` on any text in this process, for tests that run it thousands of times."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.cli import app

ACCEPTED: Final = 0
REFUSED: Final = 2
LACKING: Final = 4
MOST_BYTES: Final = 100 * 10**6
# Characters of a paragraph that somebody may still read.
LONGEST_ERROR: Final = 10_000


@dataclass(frozen=True)
class Checked:
    """Holds the exit code of `natxy check`, what it wrote to stderr, and the most memory that it took beyond what this
    process had before."""

    code: int
    error: str
    peak_bytes: int


def checked(text: bytes, folder: Path) -> Checked:
    """Checks a plan with this text. Exceptions that natxy would show as a traceback pass."""
    file = folder / "plan.yaml"
    file.write_bytes(text)
    output, error = io.StringIO(), io.StringIO()
    # The kernel notes the most memory from here on; to trace each allocation would take four times as long.
    Path("/proc/self/clear_refs").write_text("5")
    before_bytes = _most_bytes()
    with redirect_stdout(output), redirect_stderr(error):
        code = app(["check", str(file)], standalone_mode=False)
    return Checked(int(code or 0), error.getvalue(), _most_bytes() - before_bytes)


def _most_bytes() -> int:
    """Returns the most memory that this process has had since that was last forgotten (proc(5))."""
    found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return 1024 * int(found[1])


def explain(found: Checked) -> str:
    """Returns what is wrong with the way in which a plan was refused or accepted; empty if nothing is."""
    if found.code not in {ACCEPTED, REFUSED, LACKING}:
        return f"exit code {found.code}"
    if found.code == ACCEPTED:
        return ""
    if not found.error.startswith("natxy: "):
        return "no error that begins with `natxy: `"
    if "\n\n" in found.error.strip("\n"):
        return "more than one paragraph"
    if len(found.error) > LONGEST_ERROR:
        return f"an error of {len(found.error):,} characters"
    return ""
