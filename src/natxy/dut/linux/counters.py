# SPDX-License-Identifier: Apache-2.0
"""Reads what Linux counts about its cores, memory and interfaces, from texts of /proc and /sys.

All files are read by one command, which prints each line after its file's name. The texts are those of a DUT, which
natxy does not trust: lines that are not as the kernel writes them are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.system.core_watch import TICK_S

TIMES: Final = ("/proc/uptime", "/proc/stat")
# The counters of time and of the receive path are near the trial; the others may be read a little apart from it.
NEAR: Final = (*TIMES, "/proc/net/softnet_stat")
_FAR: Final = ("/proc/meminfo",)
RECEIVED: Final = "rx_packets"
SENT: Final = "tx_packets"
LOST: Final = ("rx_missed_errors", "rx_dropped", "rx_errors", "tx_dropped", "tx_errors")
_STATISTICS: Final = (RECEIVED, SENT, *LOST)
# No file that a pattern fits is no error; sensors may be missing, or refuse to be read.
_SCRIPT: Final = (
    'exec grep -sH "" "$@" /sys/class/thermal/thermal_zone*/temp /sys/devices/system/cpu/cpu[0-9]*/cpufreq/'
    "scaling_cur_freq"
)
_LONGEST_LINE: Final = 4096
_STAT_FIELDS: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_NUMBER: Final = re.compile(r"\d{1,18}", re.ASCII)
_SIGNED: Final = re.compile(r"-?\d{1,9}", re.ASCII)
_SECONDS: Final = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)
_CORE: Final = re.compile(r"cpu(\d{1,5})", re.ASCII)
_SOFTNET: Final = re.compile(r"[0-9a-f]{8}")
_SOFTNET_CORE: Final = 12
_HOTTEST_C: Final = 200.0


@dataclass(frozen=True)
class ReceiveCounters:
    """Holds the counts of a core's receive path since boot; each of them wraps at 2^32."""

    frames: int
    dropped: int
    squeezed: int


@dataclass(frozen=True)
class Counters:
    """Holds one reading; what was not told is missing.

    `cores` has the seconds since boot that each core spent, by Linux's names.
    """

    uptime_s: float | None = None
    cores: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    receive: Mapping[int, ReceiveCounters] = field(default_factory=dict)
    interrupts: int | None = None
    interfaces: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    memory_bytes: int | None = None
    available_bytes: int | None = None
    temperature_c: float | None = None
    frequency_hz: float | None = None


def reading_command(interfaces: DutInterfaces, *, without: Collection[str] = ()) -> list[str]:
    """Returns the command that prints all files but those of `NEAR` that are in `without`."""
    files = [*(file for file in NEAR if file not in without), *_FAR]
    if not interfaces.dpdk:
        files += [f"/sys/class/net/{name}/statistics/{each}" for name in interfaces.names for each in _STATISTICS]
    return ["sh", "-c", _SCRIPT, "sh", *files]


def read_here(files: Iterable[str] = NEAR) -> str:
    """Returns the text that the command would print for files of this machine."""
    lines = []
    for file in files:
        try:
            text = Path(file).read_text(errors="replace")
        except OSError:
            continue
        lines += [f"{file}:{line}\n" for line in text.splitlines()]
    return "".join(lines)


def parse_counters(text: str) -> Counters:
    """Returns what the command printed."""
    by_file: dict[str, list[str]] = {}
    for line in text.splitlines():
        if len(line) <= _LONGEST_LINE or line.startswith("/proc/stat:intr "):
            file, found, rest = line.partition(":")
            if found:
                by_file.setdefault(file, []).append(rest)
    stat = by_file.get("/proc/stat", [])
    cores = _cores(stat)
    memory = _memory(by_file.get("/proc/meminfo", []))
    return Counters(
        uptime_s=_uptime_s(by_file.get("/proc/uptime", [])),
        cores=cores,
        receive=_receive(by_file.get("/proc/net/softnet_stat", []), sorted(cores)),
        interrupts=_interrupts(stat),
        interfaces=_interfaces(by_file),
        memory_bytes=memory.get("MemTotal"),
        available_bytes=memory.get("MemAvailable"),
        temperature_c=_temperature_c(by_file),
        frequency_hz=_frequency_hz(by_file),
    )


def _uptime_s(lines: Sequence[str]) -> float | None:
    words = lines[0].split() if lines else []
    return float(words[0]) if words and _SECONDS.fullmatch(words[0]) else None


def _cores(lines: Iterable[str]) -> dict[int, dict[str, float]]:
    found = {}
    for line in lines:
        name, *ticks = line.split()[: 1 + len(_STAT_FIELDS)] or [""]
        core = _CORE.fullmatch(name)
        if core and len(ticks) == len(_STAT_FIELDS) and all(map(_NUMBER.fullmatch, ticks)):
            found[int(core[1])] = {name: int(each) * TICK_S for name, each in zip(_STAT_FIELDS, ticks, strict=True)}
    return found


def _interrupts(lines: Iterable[str]) -> int | None:
    for line in lines:
        words = line[:_LONGEST_LINE].split(maxsplit=2)
        if len(words) > 1 and words[0] == "intr" and _NUMBER.fullmatch(words[1]):
            return int(words[1])
    return None


def _receive(lines: Sequence[str], cores: Sequence[int]) -> dict[int, ReceiveCounters]:
    """Returns the counts by core: before Linux 5.10 a line does not name its core, and there is one for each of
    `cores`."""
    found = {}
    for index, line in enumerate(lines):
        words = line.split()
        if len(words) < 3 or not all(map(_SOFTNET.fullmatch, words)):
            continue
        if len(words) > _SOFTNET_CORE:
            core = int(words[_SOFTNET_CORE], 16)
        elif len(lines) == len(cores):
            core = cores[index]
        else:
            continue
        found[core] = ReceiveCounters(*(int(word, 16) for word in words[:3]))
    return found


def _memory(lines: Iterable[str]) -> dict[str, int]:
    found = {}
    for line in lines:
        match line.split():
            case [name, kib, "kB"] if _NUMBER.fullmatch(kib) and len(kib) < 15:
                found[name.removesuffix(":")] = int(kib) * 1024
    return found


def _interfaces(by_file: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for file, lines in by_file.items():
        match file.split("/"):
            case ["", "sys", "class", "net", name, "statistics", counted] if counted in _STATISTICS:
                if lines and _NUMBER.fullmatch(lines[0]):
                    found.setdefault(name, {})[counted] = int(lines[0])
    return found


def _temperature_c(by_file: Mapping[str, Sequence[str]]) -> float | None:
    told = [
        int(lines[0]) / 1000
        for file, lines in by_file.items()
        if file.startswith("/sys/class/thermal/") and lines and _SIGNED.fullmatch(lines[0])
    ]
    # Sensors that are not connected tell nonsense.
    return max((each for each in told if 0 < each < _HOTTEST_C), default=None)


def _frequency_hz(by_file: Mapping[str, Sequence[str]]) -> float | None:
    told = [
        int(lines[0]) * 1000.0
        for file, lines in by_file.items()
        if file.endswith("/scaling_cur_freq") and lines and _SIGNED.fullmatch(lines[0])
    ]
    return sum(told) / len(told) if told else None
