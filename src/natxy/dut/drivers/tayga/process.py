# SPDX-License-Identifier: Apache-2.0
"""Runs Tayga, a process that translates the packets routed to its TUN interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import IPNetwork, Translation

INTERFACE: Final = "natxy-tayga"
# The source address of Tayga's own ICMP errors, outside of all translated networks.
_OWN_ADDRESS: Final = "192.168.255.1"
# By default the interface holds 500 frames, fewer than arrive in a burst while Tayga's one thread has lost its core.
_QUEUE_LENGTH: Final = 10_000


class TaygaProcess:
    """One Tayga on the DUT, with its interface and routes.

    `mapped` has the lines of the configuration that give IPv6 hosts IPv4 addresses from `networks`. `core` pins it to
    one core.
    """

    def __init__(
        self,
        transport: Transport,
        translation: Translation,
        mapped: Sequence[str],
        networks: Sequence[IPNetwork],
        core: int | None,
    ) -> None:
        self._transport = transport
        self._routed = (translation.prefix, *networks)
        self._own_core = core
        self._cores: Sequence[int] = [] if core is None else [core]
        self.configuration = "\n".join(
            [f"tun-device {INTERFACE}", f"ipv4-addr {_OWN_ADDRESS}", f"prefix {translation.prefix}", *mapped, ""]
        )

    def start(self) -> None:
        """Starts Tayga. DutError when it refuses its configuration."""
        # A killed run may have left a Tayga on a DUT that survives the run.
        self.stop()
        self._transport.run(["tayga", "--config", "/dev/stdin", "--mktun"], input=self.configuration)
        self._ip("link", "set", INTERFACE, "up", "txqueuelen", str(_QUEUE_LENGTH))
        for network in self._routed:
            self._ip("route", "replace", str(network), "dev", INTERFACE)
        pinned = ["taskset", "--cpu-list", _listed(self._cores)] if self._cores else []
        argv = [*pinned, "tayga", "--config", "/dev/stdin", "--pidfile", self._pid_file()]
        self._transport.run(argv, input=self.configuration)

    def set_cores(self, cores: Sequence[int]) -> None:
        """Pins it to `cores`, now and after later starts, unless the plan gives it a core."""
        if self._own_core is not None:
            return
        self._cores = cores
        if pid := self._pid():
            self._transport.run(["taskset", "--cpu-list", "--pid", _listed(cores), pid])

    def stop(self) -> None:
        """Stops Tayga. No error when it does not run."""
        if pid := self._pid():
            self._transport.run(["kill", pid])
        self._transport.run(["rm", "-f", self._pid_file()])
        self._ip("link", "del", INTERFACE, must_succeed=False)

    def version(self) -> str:
        # Tayga writes its version to the system's log only.
        asked = self._transport.run(["dpkg-query", "-W", "-f", "${Version}", "tayga"], check=False)
        return f"tayga {asked.stdout}" if asked.returncode == 0 else "tayga"

    def _pid(self) -> str | None:
        pid = self._transport.run(["cat", self._pid_file()], check=False).stdout.strip()
        # After Tayga was killed, the number in its file may belong to another process.
        running = pid and self._transport.run(["cat", f"/proc/{pid}/comm"], check=False).stdout.strip() == "tayga"
        return pid if running else None

    def _pid_file(self) -> str:
        # One file per network namespace, because concurrent labs on a machine share its /run.
        namespace = self._transport.run(["readlink", "/proc/self/ns/net"]).stdout
        return f"/run/natxy-tayga-{''.join(filter(str.isdigit, namespace))}.pid"

    def _ip(self, *arguments: str, must_succeed: bool = True) -> None:
        self._transport.run(["ip", *arguments], check=must_succeed)


def _listed(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores))
