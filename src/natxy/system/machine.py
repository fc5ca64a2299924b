# SPDX-License-Identifier: Apache-2.0
"""Describes the machine that natxy runs on: its parts, its load, its processor's features."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from natxy.untrusted.values import Real, Whole


class MachineLoad(BaseModel):
    """Holds the load at one moment.

    `minute`: the mean load of the last minute. Ticks count the time of all cores since boot; `stolen_ticks` are those
    that a virtual machine's host took away, None when Linux does not report them. `monotonic_s` is the moment itself by
    the clock that nobody sets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    minute: Real
    all_ticks: Whole
    stolen_ticks: Whole | None
    monotonic_s: Real | None = None

    @classmethod
    def now(cls) -> MachineLoad:
        """Reads the present load. Raises OSError without Linux's /proc."""
        # user nice system idle iowait irq softirq steal, in ticks since boot (proc(5)).
        ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return cls(
            minute=os.getloadavg()[0],
            all_ticks=sum(ticks),
            stolen_ticks=ticks[7] if len(ticks) > 7 else None,
            monotonic_s=time.monotonic(),
        )


class LoadOfRun(BaseModel):
    """Holds the load at the beginning and the end of each session of a run; a resumed run has several sessions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sessions: tuple[tuple[MachineLoad, MachineLoad], ...]

    def facts(self) -> dict[str, str]:
        if not self.sessions:
            return {}
        began, ended = self.sessions[0][0], self.sessions[-1][1]
        facts = {"load before": f"{began.minute:.2f}", "load at the end": f"{ended.minute:.2f}"}
        steal = self._steal_percent
        return facts if steal is None else {**facts, "steal time": f"{steal:.2f} %"}

    @property
    def _steal_percent(self) -> float | None:
        ticks = stolen = 0
        for began, ended in self.sessions:
            if began.stolen_ticks is None or ended.stolen_ticks is None:
                return None
            ticks += ended.all_ticks - began.all_ticks
            stolen += ended.stolen_ticks - began.stolen_ticks
        return 100 * stolen / ticks if ticks > 0 else None


def cpu_flags() -> frozenset[str]:
    """Returns the processor's features by their names in /proc/cpuinfo; none when the file lists none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    fields = (line.partition(":") for line in lines)
    return next((frozenset(value.split()) for key, _, value in fields if key.strip() == "flags"), frozenset())


def is_virtual_machine() -> bool:
    return "hypervisor" in cpu_flags()


def describe_machine() -> dict[str, str]:
    """Returns the facts about this machine for the report."""
    return {
        "host": platform.node(),
        "processor": _first(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo")) or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": _first(r'^PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release")) or platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def available_bytes() -> int | None:
    """Returns how much of this machine's memory programs can still take; None if unknown."""
    return _memory_bytes("MemAvailable")


def _memory_bytes(field: str) -> int | None:
    kilobytes = _first(rf"^{field}:\s*(\d+) kB$", Path("/proc/meminfo"))
    return 1024 * int(kilobytes) if kilobytes else None


def _memory() -> str:
    known = _memory_bytes("MemTotal")
    return f"{known / 2**30:.1f} GiB" if known else "unknown"


def _first(pattern: str, file: Path) -> str | None:
    try:
        match = re.search(pattern, file.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None
