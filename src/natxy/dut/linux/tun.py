# SPDX-License-Identifier: Apache-2.0
"""The base class of gateways in user space: a process translates the packets that are routed to its TUN interface."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Final

from natxy.dut.base import ConfigT
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.base import Transport
from natxy.errors import GatewayDiedError
from natxy.plan.model.addresses import IPNetwork

# By default the interface holds 500 frames, fewer than arrive in a burst while the process has lost its core.
_QUEUE_LENGTH: Final = 10_000
# Prints three lines; that of a file which does not exist is empty.
_ASK: Final = """
pid=; name=; interface=
{ read -r pid < "$1"; read -r name < "/proc/$pid/comm"; } 2> /dev/null
[ -e "/sys/class/net/$2" ] && interface=$2
printf '%s\n' "$pid" "$name" "$interface"
"""


def check_process(transport: Transport, program: str, pid_file: str, tun: str) -> None:
    """Looks for a process and its interface. GatewayDiedError if one of them is gone."""
    asked = transport.run(["sh", "-c", _ASK, "sh", pid_file, tun], check=False)
    pid, name, interface = (*asked.stdout.splitlines(), "", "", "")[:3]
    # The number of a process that has ended may belong to another one.
    ended = [] if name == program else [f"its process {program} (pid {pid or 'unknown'}) ended"]
    missing = [] if interface == tun else [f"its interface {tun} is gone"]
    if ended or missing:
        raise GatewayDiedError(" and ".join([*ended, *missing]))


def set_up(transport: Transport, tun: str, mtu: int) -> None:
    """Sets a TUN interface up, for packets as long as those of the links."""
    transport.run(["ip", "link", "set", tun, "up", "txqueuelen", str(_QUEUE_LENGTH), "mtu", str(mtu)])


def run_path(transport: Transport, process: str) -> str:
    """Returns the start of the names of a process's files, which has the network namespace in it.

    Labs on one machine share its /run.
    """
    namespace = transport.run(["readlink", "/proc/self/ns/net"]).stdout
    return f"/run/natxy-{process}-{''.join(filter(str.isdigit, namespace))}"


class TunGateway(LinuxGateway[ConfigT]):
    """Runs one process. A driver starts and stops it in `install` and `uninstall`."""

    process: ClassVar[str]
    """The name of the process in the names of its files."""
    tun: ClassVar[str]
    """The TUN interface."""

    @cached_property
    def run_path(self) -> str:
        """Returns the start of the names of the process's files."""
        return run_path(self.transport, self.process)

    @property
    def program_name(self) -> str:
        """The name of the process as the kernel has it, of at most 15 characters."""
        return self.process

    @property
    def pid_file(self) -> str:
        """Returns the file with the number of the process."""
        return f"{self.run_path}.pid"

    def check_alive(self) -> None:
        """Looks for the process and its interface."""
        check_process(self.transport, self.program_name, self.pid_file, self.tun)

    def route_to_tun(self, networks: Iterable[IPNetwork]) -> None:
        """Sets the TUN interface up and routes `networks` to it."""
        set_up(self.transport, self.tun, self.addresses.mtu)
        for network in networks:
            self.transport.run(["ip", "route", "replace", str(network), "dev", self.tun])
