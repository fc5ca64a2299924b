# SPDX-License-Identifier: Apache-2.0
"""Makes the network namespaces of a lab, and removes them with everything in them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import count
from typing import Self

from natxy.cleanup.namespaces import links_in, remove_namespace
from natxy.dut.transport.local import run_program
from natxy.engine.messages.common import Side
from natxy.errors import PlanError
from natxy.plan.gateways.chain import MOST_HOPS
from natxy.system.ledger import Kind, Ledger
from natxy.system.network_namespace import NAMED, processes_in
from natxy.system.process_owner import Owner


@dataclass(frozen=True)
class LabNamespaces:
    """Names the namespaces of a lab, and of the hosts at the ends of its links, by their owner: a process.

    `number`: that of the lab, of several that the process has at a time.
    """

    owner: Owner
    number: int = 1

    @classmethod
    def free(cls) -> Self:
        """Returns the names of a further lab of this process."""
        owner = Owner.current()
        taken = {entry.what for entry in Ledger().of(Kind.NAMESPACE, owner)}
        return next(lab for lab in (cls(owner, number) for number in count(1)) if lab.tester not in taken)

    @property
    def _lab(self) -> str:
        return f"natxy-{self.owner}" if self.number == 1 else f"natxy-{self.owner}-{self.number}"

    @property
    def tester(self) -> str:
        return f"{self._lab}-tester"

    @property
    def dut(self) -> str:
        """The namespace of the gateway, or of the first of several."""
        return self.dut_of(0)

    def dut_of(self, hop: int) -> str:
        """Returns the namespace of one of several gateways, from 0 on."""
        return f"{self._lab}-dut{hop + 1 if hop else ''}"

    def processes(self, hops: int) -> list[int]:
        """Returns the processes in the namespaces of so many gateways."""
        return [process.pid for hop in range(hops) for process in processes_in(NAMED / self.dut_of(hop))]

    def host(self, side: Side) -> str:
        return f"{self._lab}-{side}-host"

    def add(self, *names: str) -> None:
        for name in names:
            Ledger().add(Kind.NAMESPACE, name)
            run_program(["ip", "netns", "add", name])
            run_program(["ip", "-n", name, "link", "set", "lo", "up"])

    def remove(self) -> None:
        """Ends the processes inside, then removes links and namespaces. Does nothing when there are none."""
        self.remove_hosts()
        self._remove(self.tester, *map(self.dut_of, range(MOST_HOPS)))

    def remove_hosts(self) -> None:
        """Removes the hosts' namespaces; their interfaces go to natxy's own namespace first.

        An interface may be the machine's, and deleting a namespace deletes the veth ends in it.
        """
        for name in map(self.host, Side):
            for link in links_in(name):
                if link != "lo":
                    run_program(["ip", "-n", name, "link", "set", link, "netns", str(os.getpid())], check=False)
        self._remove(*map(self.host, Side))

    def _remove(self, *names: str) -> None:
        ledger = Ledger()
        for entry in ledger.of(Kind.NAMESPACE, self.owner):
            if entry.what in names:
                remove_namespace(entry.what)
                ledger.remove(entry)


def other_labs() -> list[Owner]:
    """Returns the other live processes that have a lab on this machine."""
    entries = [entry for entry in Ledger().entries() if entry.kind == Kind.NAMESPACE and entry.is_owned()]
    return sorted({entry.process() for entry in entries} - {Owner.current()}, key=str)


def check_root() -> None:
    """Raises PlanError without root."""
    if os.geteuid() != 0:
        raise PlanError("opening ports and making network namespaces needs root: run natxy with sudo, or as root")
