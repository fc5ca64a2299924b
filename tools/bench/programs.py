# SPDX-License-Identifier: Apache-2.0
"""Runs the engine's benchmark programs and reads what they print."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tools.bench.testpmd import FIRST, NOWHERE, Wiring

TASKS: Final = Path("build/engine/task_bench")
PHASE1: Final = Path("build/engine/phase1_bench")


def printed(argv: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Runs a program with the highest priority; returns the JSON objects that it prints."""
    process = subprocess.run([*FIRST, *argv], capture_output=True, text=True, check=False)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, argv))} ended with {process.returncode}:\n{process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


def task(
    name: str, cores: Sequence[int], seconds: float, wiring: Wiring = NOWHERE, program: Path = TASKS
) -> dict[str, Any]:
    return printed([*wiring.prefix, *task_argv(name, cores, seconds, wiring, program)])[0]


def task_argv(
    name: str, cores: Sequence[int], seconds: float, wiring: Wiring = NOWHERE, program: Path = TASKS
) -> list[str]:
    """Returns the command of a task that one process runs on each of `cores`."""
    return [str(program), name, ",".join(map(str, cores)), str(seconds), wiring.device, *wiring.arguments]
