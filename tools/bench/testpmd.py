# SPDX-License-Identifier: Apache-2.0
"""Runs DPDK's testpmd, which sends without a schedule and receives without reading the frames."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

# A trial's workers have the highest priority, and so does everything that is compared with them. Each process has a
# session of its own, like the engine, because the kernel's autogroups limit the effect of a nice value to a session.
FIRST: Final = (
    "setsid", "-w", "sh", "-c", 'echo -20 2>/dev/null >/proc/self/autogroup; exec nice -n -20 "$@"', "first",
)  # fmt: skip
# Frames of 64 bytes with the FCS.
_MODES: Final = {
    "txonly": ("--forward-mode=txonly", "--txonly-multi-flow", "--txpkts=60"),
    "rxonly": ("--forward-mode=rxonly",),
}
_COUNTERS: Final = {"txonly": "TX", "rxonly": "RX"}


@dataclass(frozen=True)
class Wiring:
    """Describes the destination of a sender's frames. `prefix` precedes either sender's command. natxy's `arguments`
    and testpmd's `environment` name the thread that receives from the device."""

    device: str
    prefix: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


NOWHERE: Final = Wiring("net_null0,no-rx=1")


@dataclass(frozen=True)
class Testpmd:
    """Runs testpmd on `core`. Its buffers are in huge pages with `hugepages`, else in pages of 4 KiB."""

    core: int
    control_core: int
    hugepages: bool

    @contextmanager
    def forwarding(self, mode: str, wiring: Wiring) -> Iterator[subprocess.Popen[str]]:
        """Forwards within the context."""
        memory = ("--in-memory",) if self.hugepages else ("--no-huge", "-m", "1024")
        argv = [
            *FIRST, *wiring.prefix, "stdbuf", "-oL",
            "dpdk-testpmd", "--no-pci", *memory, "--no-telemetry", "--no-shconf", "--log-level=*:error",
            "--lcores", f"0@{self.control_core},1@{self.core}", "--main-lcore=0", f"--vdev={wiring.device}", "--",
            *_MODES[mode], "--port-topology=loop", "--burst=32", "--nb-cores=1", "--total-num-mbufs=16384",
            "--interactive",
        ]  # fmt: skip
        with subprocess.Popen(
            argv,
            env={**os.environ, **wiring.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        ) as process:
            try:
                _command(process, "start")
                _next(process, "TX offloads=")  # The last line before testpmd sends.
                yield process
            finally:
                process.terminate()

    def fps(self, mode: str, wiring: Wiring, seconds: float) -> float:
        """Returns frames per second that the thread had the core."""
        with self.forwarding(mode, wiring) as process:
            time.sleep(seconds)
            return self.stopped(process, mode) / _thread_s(process.pid, "rte-worker-1")

    def stopped(self, process: subprocess.Popen[str], mode: str) -> int:
        """Stops forwarding and returns the number of frames."""
        _command(process, "stop")
        _next(process, "Accumulated forward statistics")
        return int(_next(process, rf"{_COUNTERS[mode]}-packets: (\d+)")[1])


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
    """Returns the seconds that the process's thread of that name had a core."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise LookupError(f"process {pid} has no thread {name}")
