# SPDX-License-Identifier: Apache-2.0
"""Finds what a gateway's commands have made on a DUT, interfaces and processes, and what of it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from natxy.dut.transport.base import ProcessLister, Transport


@dataclass(frozen=True)
class Existing:
    """Holds the names of a DUT's interfaces, and its processes by their numbers.

    `interfaces` is None where they cannot be asked. Processes are known in a network namespace that natxy made, where
    no others run than those of the gateway. What a process has started itself is left out.
    """

    interfaces: frozenset[str] | None = frozenset()
    processes: Mapping[int, str] = field(default_factory=dict)

    def __sub__(self, earlier: Existing) -> Existing:
        """Returns what exists now and did not exist earlier."""
        new = {pid: name for pid, name in self.processes.items() if pid not in earlier.processes}
        if self.interfaces is None or earlier.interfaces is None:
            return Existing(None, new)
        return Existing(self.interfaces - earlier.interfaces, new)

    def __bool__(self) -> bool:
        return bool(self.interfaces or self.processes)


def existing(transport: Transport) -> Existing:
    """Asks for interfaces and processes."""
    shown = transport.run(["ls", "/sys/class/net"], check=False)
    interfaces = frozenset(shown.stdout.split()) if shown.returncode == 0 else None
    running = transport.processes() if isinstance(transport, ProcessLister) else []
    pids = {process.pid for process in running}
    return Existing(interfaces, {process.pid: process.name for process in running if process.parent not in pids})


def gone(made: Existing, now: Existing) -> str:
    """Returns what of `made` is gone, as the end of a sentence on the gateway; empty if nothing is.

    A process that another one of its name has replaced is not gone.
    """
    names = set(now.processes.values())
    ended = [f"its process {name} (pid {pid}) ended" for pid, name in made.processes.items() if name not in names]
    missing = (made.interfaces or frozenset()) - now.interfaces if now.interfaces is not None else frozenset()
    return " and ".join([*ended, *(f"its interface {name} is gone" for name in sorted(missing))])
