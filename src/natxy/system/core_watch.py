# SPDX-License-Identifier: Apache-2.0
"""Measures how long cores were taken away from the tasks that are to run there.

Two counters of Linux say so. Steal (/proc/stat) is the time in which the host of a virtual machine ran something else
on a core. Run delay (/proc/PID/schedstat) is the time in which a task was ready and waited for its core. Packets are
processed by a core's ksoftirqd as soon as there are many, so it waits while other tasks run instead. But packets are
also processed at the end of interrupts, on top of any task, so that its run delay alone says too much: the absence is
no longer than other tasks ran on the core (/proc/stat).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_PROC: Final = Path("/proc")
_TASK_FIELDS: Final = (1, 2, 3)  # user, nice and system
_STEAL_FIELD: Final = 8


@dataclass(frozen=True)
class Absence:
    """Holds how long a core did not do its work, in seconds.

    `stolen_s` and `delayed_s` are the parts by steal and by other tasks. They are None where only the sum is known.
    `uncertain_s` is how much longer it may have been, because Linux counts in ticks.
    """

    total_s: float
    stolen_s: float | None = None
    delayed_s: float | None = None
    uncertain_s: float = 0.0

    @property
    def most_s(self) -> float:
        return self.total_s + self.uncertain_s


@dataclass(frozen=True)
class _Task:
    """The time in ns that a task ran, and that it waited while it was ready."""

    ran: int
    delayed: int

    @classmethod
    def read(cls, pid: int) -> _Task | None:
        try:
            ran, delayed, _ = (_PROC / str(pid) / "schedstat").read_text().split()
        except (OSError, ValueError):
            return None
        return cls(int(ran), int(delayed))


@dataclass(frozen=True)
class _Ticks:
    """The time, in ticks, that a core was stolen, and that it ran tasks: neither interrupts nor ksoftirqd's packets."""

    stolen: int
    tasks: int


@dataclass(frozen=True)
class _Counters:
    """Holds ticks by the core's number, and tasks by the process id."""

    ticks: Mapping[int, _Ticks]
    tasks: Mapping[int, _Task]


class CoreWatch:
    """Watches `cores`. `processes` returns the processes, besides the kernel's, whose work these cores are to do.

    They are looked for again once one of them has ended. `begin` and `end` take a fraction of a millisecond.
    """

    def __init__(self, cores: Iterable[int], processes: Callable[[], Iterable[int]] = tuple) -> None:
        self._softirqs = {core: _ksoftirqds().get(core) for core in cores}
        self._find_processes = processes
        self._processes: list[int] | None = None
        self._before: _Counters | None = None

    def begin(self) -> None:
        if self._processes is None or not all((_PROC / str(pid)).exists() for pid in self._processes):
            self._processes = [*self._find_processes()]
        self._before = self._counters()

    def end(self) -> Absence | None:
        """Returns the absence, since `begin`, of the core that was away longest; None without a counter of steal."""
        assert self._before is not None
        before, after = self._before, self._counters()
        spent = {
            pid: _Task(task.ran - before.tasks[pid].ran, task.delayed - before.tasks[pid].delayed)
            for pid, task in after.tasks.items()
            if pid in before.tasks
        }
        kernel = {*self._softirqs.values()}
        # A process may run on any of the cores.
        by_process_s = max((_behind_others_s(pid, spent, set()) for pid in spent if pid not in kernel), default=0.0)
        absences = []
        own_s = sum(task.ran for pid, task in spent.items() if pid not in kernel) / 1e9
        for core in after.ticks.keys() & before.ticks.keys():
            ticks = after.ticks[core]
            stolen_s = (ticks.stolen - before.ticks[core].stolen) * TICK_S
            others_s = max(0.0, (ticks.tasks - before.ticks[core].tasks) * TICK_S - own_s)
            # Kernel threads of several cores never wait for each other.
            waited_s = _behind_others_s(self._softirqs[core], spent, kernel)
            delayed_s = max(by_process_s, min(waited_s, others_s))
            uncertain_s = (TICK_S if stolen_s else 0.0) + min(TICK_S, max(0.0, waited_s - delayed_s))
            absences.append(Absence(stolen_s + delayed_s, stolen_s, delayed_s, uncertain_s))
        return max(absences, key=lambda absence: absence.total_s, default=None)

    def _counters(self) -> _Counters:
        pids = [pid for pid in (*self._softirqs.values(), *(self._processes or ())) if pid is not None]
        tasks = {pid: task for pid in pids if (task := _Task.read(pid))}
        try:
            stat = (_PROC / "stat").read_text()
        except OSError:
            stat = ""
        return _Counters(_ticks(stat, self._softirqs), tasks)


def _behind_others_s(pid: int | None, spent: Mapping[int, _Task], apart: set[int | None]) -> float:
    """Returns how long a task waited for tasks that are not the gateway's own.

    The tasks of a gateway also wait for each other, but for no longer than the others ran. Those in `apart` run on
    other cores.
    """
    if pid is None or pid not in spent:
        return 0.0
    own = sum(task.ran for other, task in spent.items() if other != pid and other not in apart)
    return max(0, spent[pid].delayed - own) / 1e9


class StealWatch:
    """Watches `cores` of any machine for steal alone: which processes are the gateway's is known only on this one.

    `read_stat` returns the text of the machine's /proc/stat; empty if it cannot be read.
    """

    def __init__(self, cores: Iterable[int], read_stat: Callable[[], str]) -> None:
        self._cores = frozenset(cores)
        self._read_stat = read_stat
        self._before: Mapping[int, _Ticks] = {}

    def begin(self) -> None:
        self._before = _ticks(self._read_stat(), self._cores)

    def end(self) -> Absence | None:
        """Returns the steal, since `begin`, of the core with the most; None if it is unknown, as after a reboot."""
        after = _ticks(self._read_stat(), self._cores)
        ticks = [now.stolen - self._before[core].stolen for core, now in after.items() if core in self._before]
        if not ticks or min(ticks) < 0:
            return None
        stolen_s = max(ticks) * TICK_S
        return Absence(stolen_s, stolen_s, uncertain_s=TICK_S if stolen_s else 0.0)


def longest(absences: Iterable[Absence | None]) -> Absence | None:
    """Returns the longest absence; None if one is unknown."""
    found = [*absences]
    known = [absence for absence in found if absence]
    return max(known, key=lambda absence: absence.total_s) if known and len(known) == len(found) else None


def _ticks(stat: str, cores: Iterable[int]) -> dict[int, _Ticks]:
    """Returns the counts of each core since boot from the text of /proc/stat; none where Linux does not count steal."""
    wanted = {f"cpu{core}": core for core in cores}
    found = {}
    for line in stat.splitlines():
        words = line.split()
        if words and words[0] in wanted and len(words) > _STEAL_FIELD:
            tasks = sum(int(words[field]) for field in _TASK_FIELDS)
            found[wanted[words[0]]] = _Ticks(int(words[_STEAL_FIELD]), tasks)
    return found


@cache
def _ksoftirqds() -> dict[int, int]:
    """Returns the process id of each core's ksoftirqd; none in a container that hides the kernel's threads."""
    found = {}
    for file in _PROC.glob("[0-9]*/comm"):
        with suppress(OSError):
            name, _, core = file.read_text().strip().partition("/")
            if name == "ksoftirqd":
                found[int(core)] = int(file.parent.name)
    return found
