# SPDX-License-Identifier: Apache-2.0
"""DPDK's own testpmd: what it sends without looking at a clock, and what it receives without looking into it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# As a trial's workers go before all others, so does everything that is compared with them.
FIRST: Final = ("nice", "-n", "-20")
# Of 64 bytes with the FCS.
_MODES: Final = {
    "txonly": ("--forward-mode=txonly", "--txonly-multi-flow", "--txpkts=60"),
    "rxonly": ("--forward-mode=rxonly",),
}
_COUNTERS: Final = {"txonly": "TX", "rxonly": "RX"}


@contextmanager
def forwarding(
    mode: str,
    device: str,
    core: int,
    control_core: int,
    *,
    prefix: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """On `core` until the context is left. `prefix`: a command that runs it somewhere else."""
    argv = [
        *prefix, *FIRST, "stdbuf", "-oL",
        "dpdk-testpmd", "--no-pci", "--no-huge", "-m", "1024", "--no-telemetry", "--no-shconf", "--log-level=*:error",
        "--lcores", f"0@{control_core},1@{core}", "--main-lcore=0", f"--vdev={device}", "--",
        *_MODES[mode], "--port-topology=loop", "--burst=32", "--nb-cores=1", "--total-num-mbufs=16384", "--interactive",
    ]  # fmt: skip
    with subprocess.Popen(
        argv,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    ) as process:
        try:
            _command(process, "start")
            _next(process, "TX offloads=")  # the last line before it sends
            yield process
        finally:
            process.terminate()


def stopped_fps(mode: str, process: subprocess.Popen[str]) -> float:
    """What it forwarded until now, per second that its thread had the core."""
    _command(process, "stop")
    _next(process, "Accumulated forward statistics")
    frames = _next(process, rf"{_COUNTERS[mode]}-packets: (\d+)")
    return int(frames[1]) / _thread_s(process.pid, "rte-worker-1")


def _next(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(pattern, line):
            return found
    sys.exit(f"dpdk-testpmd ended without {pattern!r}:\n{''.join(lines)}")


def _command(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdin is not None
    process.stdin.write(words + "\n")


def _thread_s(pid: int, name: str) -> float:
    """Seconds on a core, of the process' thread of that name."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise LookupError(f"process {pid} has no thread {name}")
