# SPDX-License-Identifier: Apache-2.0
"""Runs Tayga, a stateless translator in user space: one process with a TUN interface of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Network
from typing import Final

from natxy.dut.transport.base import Transport, pinned

NAME: Final = "tayga"
PROGRAMS: Final = {NAME: "apt install tayga"}
# The source address of Tayga's own ICMP errors, outside of all translated networks.
_OWN_ADDRESS: Final = "192.168.255.1"


@dataclass(frozen=True)
class Tayga:
    """One Tayga with its interface and its configuration. `pid_file` has the number of its process."""

    transport: Transport
    tun: str
    pid_file: str
    settings: str

    def make_tun(self) -> None:
        """Makes the interface, after which Tayga can start."""
        self.transport.run([NAME, "--config", "/dev/stdin", "--mktun"], input=self.settings)

    def start(self, cores: Sequence[int]) -> None:
        """Starts the process on `cores`; without cores, on any."""
        # Tayga starts and ends again where it cannot write this file, and tells only the system's log.
        self.transport.run(["tee", self.pid_file], input="\n")
        argv = [*pinned(cores), NAME, "--config", "/dev/stdin", "--pidfile", self.pid_file]
        self.transport.run(argv, input=self.settings)

    def stop(self) -> None:
        """Ends the process and deletes the interface. No error if there is neither."""
        if pid := self._pid():
            self.transport.run(["kill", pid])
        self.transport.run(["rm", "-f", self.pid_file])
        self.transport.run(["ip", "link", "del", self.tun], check=False)

    def pin(self, cores: Sequence[int]) -> None:
        """Pins the process, if it runs."""
        if pid := self._pid():
            self.transport.run(["taskset", "--cpu-list", "--pid", ",".join(map(str, cores)), pid])

    def _pid(self) -> str | None:
        pid = self.transport.run(["cat", self.pid_file], check=False).stdout.strip()
        # After Tayga was killed, the number in its file may belong to another process.
        running = pid and self.transport.run(["cat", f"/proc/{pid}/comm"], check=False).stdout.strip() == NAME
        return pid if running else None


def settings(tun: str, prefix: IPv6Network, mappings: Iterable[str]) -> str:
    """Returns Tayga's configuration; `mappings` are its lines that give hosts addresses."""
    return "\n".join([f"tun-device {tun}", f"ipv4-addr {_OWN_ADDRESS}", f"prefix {prefix}", *mappings, ""])


def version(transport: Transport) -> str:
    """Returns Tayga's name and, if it is a package, its version. Tayga writes its version to the system's log only."""
    asked = transport.run(["dpkg-query", "-W", "-f", "${Version}", NAME], check=False)
    return f"{NAME} {asked.stdout}" if asked.returncode == 0 else NAME
