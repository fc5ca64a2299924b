# SPDX-License-Identifier: Apache-2.0
"""The base class of gateways in user space: a process translates the packets that are routed to its TUN interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from natxy.dut.base import ConfigT
from natxy.dut.linux.gateway import LinuxGateway
from natxy.plan.model.addresses import IPNetwork

# By default the interface holds 500 frames, fewer than arrive in a burst while the process has lost its core.
_QUEUE_LENGTH: Final = 10_000


class TunGateway(LinuxGateway[ConfigT]):
    """Runs one process. A driver starts and stops it in `install` and `uninstall`."""

    process: ClassVar[str]
    """The name of the process in the names of its files."""
    tun: ClassVar[str]
    """The TUN interface."""

    def run_path(self) -> str:
        """Returns the start of the names of the process's files, which has the network namespace in it.

        Labs on one machine share its /run.
        """
        namespace = self.transport.run(["readlink", "/proc/self/ns/net"]).stdout
        return f"/run/natxy-{self.process}-{''.join(filter(str.isdigit, namespace))}"

    def route_to_tun(self, networks: Iterable[IPNetwork]) -> None:
        """Sets the TUN interface up and routes `networks` to it."""
        self.transport.run(["ip", "link", "set", self.tun, "up", "txqueuelen", str(_QUEUE_LENGTH)])
        for network in networks:
            self.transport.run(["ip", "route", "replace", str(network), "dev", self.tun])
