# SPDX-License-Identifier: Apache-2.0
"""Runs natxy as its users do: as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

# Only ends a test that hangs: a busy machine may need many times what an idle one does.
HANG_S: Final = 600


def natxy(
    *arguments: str | Path, inside: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Returns what natxy wrote and its exit code. `inside` is a prefix, e.g. `ip netns exec NAME`."""
    return subprocess.run(
        [*inside, *command(*arguments)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "natxy", *map(str, arguments)]
