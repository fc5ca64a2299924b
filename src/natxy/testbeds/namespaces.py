# SPDX-License-Identifier: Apache-2.0
"""Makes the network namespaces of a lab, and removes them with everything in them, also after a killed run."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from natxy.dut.transport.local import run_program
from natxy.engine.messages.common import Side
from natxy.errors import DutError, PlanError
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner

_NAME = re.compile(r"natxy-(\d+-\d+)-(tester|dut|left-host|right-host)")


@dataclass(frozen=True)
class LabNamespaces:
    """Names the namespaces of one process's lab, and of the hosts at the ends of its links, by their owner."""

    owner: Owner

    @property
    def tester(self) -> str:
        return f"natxy-{self.owner}-tester"

    @property
    def dut(self) -> str:
        return f"natxy-{self.owner}-dut"

    def dut_processes(self) -> list[int]:
        """Returns the processes in the DUT's namespace."""
        return [int(pid) for pid in run_program(["ip", "netns", "pids", self.dut]).stdout.split()]

    def host(self, side: Side) -> str:
        return f"natxy-{self.owner}-{side}-host"

    def add(self, *names: str) -> None:
        for name in names:
            run_program(["ip", "netns", "add", name])
            run_program(["ip", "-n", name, "link", "set", "lo", "up"])

    def remove(self) -> None:
        """Ends the processes inside, then removes links and namespaces. Does nothing when there are none."""
        self.remove_hosts()
        self._remove(self.tester, self.dut)

    def remove_hosts(self) -> None:
        """Removes the hosts' namespaces; their interfaces go to natxy's own namespace first.

        An interface may be the machine's, and deleting a namespace deletes the veth ends in it.
        """
        existing = _namespaces()
        for name in map(self.host, Side):
            if name in existing:
                _move_links_out(name)
        self._remove(*map(self.host, Side))

    def _remove(self, *names: str) -> None:
        existing = _namespaces()
        for name in names:
            if name in existing:
                _end_processes(name)
                _remove_links(name)
                run_program(["ip", "netns", "del", name])


def lab_owners() -> list[Owner]:
    """Returns the processes that have a lab on this machine, dead ones included."""
    matches = (_NAME.fullmatch(name) for name in _namespaces())
    return sorted({Owner.parse(match[1]) for match in matches if match}, key=str)


def other_labs() -> list[Owner]:
    """Returns the other live processes that have a lab on this machine."""
    return [owner for owner in lab_owners() if owner.is_alive() and owner != Owner.current()]


def stale_labs() -> list[LabNamespaces]:
    """Returns the namespaces of dead processes."""
    return [LabNamespaces(owner) for owner in lab_owners() if not owner.is_alive()]


def prepare_machine() -> list[Owner]:
    """Removes what killed natxy processes left on this machine; returns the other processes that have a lab on it.

    Raises PlanError without root.
    """
    if os.geteuid() != 0:
        raise PlanError("opening ports and making network namespaces needs root: run natxy with sudo, or as root")
    remove_stale_labs()
    return other_labs()


def remove_stale_labs() -> list[str]:
    """Removes what killed natxy processes left on this machine; returns a line for each thing. Needs root."""
    removed = []
    for namespaces in stale_labs():
        namespaces.remove()
        removed.append(f"the lab of process {namespaces.owner.pid}, which no longer runs")
    removed += [f"the changed value of sysctl {name}" for name in MachineSysctls().release_dead_owners()]
    return removed


def _namespaces() -> set[str]:
    # A name may be followed by "(id: 0)".
    return {line.split()[0] for line in run_program(["ip", "netns", "list"]).stdout.splitlines() if line.strip()}


def _end_processes(namespace: str, timeout_s: float = 2) -> None:
    deadline = time.monotonic() + timeout_s
    while pids := run_program(["ip", "netns", "pids", namespace]).stdout.split():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        if time.monotonic() > deadline:
            raise DutError(f"processes {', '.join(pids)} in network namespace {namespace} cannot be ended")
        time.sleep(0.02)


def _links(namespace: str, *selection: str) -> list[str]:
    shown = run_program(["ip", "-n", namespace, "-brief", "link", "show", *selection]).stdout
    return [line.split()[0].split("@")[0] for line in shown.splitlines()]


def _move_links_out(namespace: str) -> None:
    for link in _links(namespace):
        if link != "lo":
            run_program(["ip", "-n", namespace, "link", "set", link, "netns", str(os.getpid())], check=False)


def _remove_links(namespace: str) -> None:
    # Deleting a namespace frees its links only after a while, so delete the links first.
    for link in _links(namespace, "type", "veth"):
        run_program(["ip", "-n", namespace, "link", "del", link], check=False)
