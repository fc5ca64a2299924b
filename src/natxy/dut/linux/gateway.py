# SPDX-License-Identifier: Apache-2.0
"""The base class of Linux gateways, which forward, set their own links and choose their cores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar

from natxy.dut.base import ConfigT, DutDescription, Gateway
from natxy.dut.linux.conntrack import ConntrackTable
from natxy.dut.linux.interfaces import napi_in_threads, set_links, steer, steered_to, unset_links
from natxy.dut.linux.neighbors import NeighborTable
from natxy.dut.transport.base import PowerSwitch
from natxy.dut.transport.hotplug import CoreSwitch
from natxy.errors import DutError
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.system.machine_sysctls import interface_word

LINK_UP_S = 10.0
FORWARDING = ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")


class LinuxGateway(Gateway[ConfigT]):
    """Forwards by the kernel, unless the settings say that the gateway bypasses it.

    A driver that does more than forward implements `install`, `uninstall`, `version` and `configuration`.
    """

    table: ConntrackTable | None = None
    """The connection tracking table of a stateful gateway."""
    reported_sysctls: ClassVar[tuple[str, ...]] = (
        *FORWARDING,
        "net.ipv4.conf.all.rp_filter",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        macs = self.config.neighbors if isinstance(self.config, NeighborsModel) else None
        self._chosen_cores: tuple[int, ...] | None = None
        self._sysctls = dict.fromkeys(FORWARDING, "0" if self.config.bypasses_kernel else "1")
        if self.interfaces.left == self.interfaces.right:
            # The kernel would tell the tester with every few frames that its other port is nearer.
            redirects = (
                f"net.ipv4.conf.{name}.send_redirects" for name in ("all", interface_word(self.interfaces.left))
            )
            self._sysctls |= dict.fromkeys(redirects, "0")
        self._neighbors = NeighborTable(self.transport, self.interfaces, self.addresses, macs)

    def install(self) -> None:
        """Adds what distinguishes this gateway from a router."""

    def uninstall(self) -> None:
        """Undoes `install`. No error when nothing is installed."""

    def version(self) -> str:
        """Returns the names and versions of the gateway's parts."""
        return self.kernel()

    def configuration(self) -> str:
        """Returns the exact configuration in force."""
        return self.routes()

    @classmethod
    def programs(cls, config: ConfigT) -> dict[str, str]:
        return {"ip": "apt install iproute2", "sysctl": "apt install procps"}

    def set_links(self) -> None:
        set_links(self.transport, self.interfaces, self.addresses)

    def unset_links(self) -> None:
        unset_links(self.transport, self.interfaces, self.addresses)

    def apply(self) -> None:
        with self.removed_on_error():
            self._neighbors.apply()
            if self.table:
                self.table.apply()
            self.install()
            # Last: a frame that is forwarded before the rules are there opens a connection that no rule translates.
            for name, value in self._sysctls.items():
                self.transport.network.hold(name, value)

    def remove(self) -> None:
        # Each step is taken whatever another one raises.
        with ExitStack() as stack:
            for name in self._sysctls:
                stack.callback(self.transport.network.release, name)
            stack.callback(self._neighbors.remove)
            if self.table:
                stack.callback(self.table.remove)
            self.uninstall()

    def restart(self) -> None:
        """Stops forwarding, deletes all connections and sets the gateway up again.

        A machine that can be switched off is switched off and on instead.
        """
        if isinstance(self.transport, PowerSwitch):
            self.transport.restart()
            if not self.transport.sets_own_links:
                self.set_links()
            self.apply()
            self.wait_ready()
            if self._chosen_cores is not None:
                self.set_cores(self._chosen_cores)
            return
        for name in FORWARDING:
            self._write_sysctl(name, "0")
        self.uninstall()
        self.clear()
        self.install()
        for name in FORWARDING:
            self._write_sysctl(name, self._sysctls[name])
        self.wait_ready()

    def describe(self) -> DutDescription:
        settings = {"kernel": self.kernel()} | {name: self.read_sysctl(name) for name in self.reported_sysctls}
        if isinstance(self.transport, CoreSwitch):
            settings["cores in service"] = ", ".join(map(str, self.transport.hot_plug.cores()))
        if mask := steered_to(self.transport, self.interfaces):
            settings["rps_cpus"] = mask
        if threaded := napi_in_threads(self.transport, self.interfaces):
            settings["threaded NAPI"] = ", ".join(threaded)
        settings |= self._neighbors.describe()
        if self.table:
            settings |= self.table.describe()
        return DutDescription(self.name, self.version(), settings, self.configuration())

    def wait_ready(self) -> None:
        for interface in self.interfaces.names:
            self._wait_up(interface, time.monotonic() + LINK_UP_S)

    def set_cores(self, cores: Sequence[int]) -> None:
        """Restricts the kernel's receive path to these cores.

        On a machine of the DUT's own, the other cores go out of service; elsewhere no frames are steered to them.
        """
        self._chosen_cores = tuple(cores)
        if isinstance(self.transport, CoreSwitch):
            self.transport.hot_plug.use(cores)
        else:
            steer(self.transport, self.interfaces, cores)

    def kernel(self) -> str:
        """Returns the kernel's release, and whether it is user-mode Linux."""
        release = self.transport.run(["uname", "-r"]).stdout.strip()
        # The name that user-mode Linux gives its processor.
        if "User Mode Linux" in self.transport.run(["cat", "/proc/cpuinfo"]).stdout:
            return f"user-mode Linux {release}, one virtual CPU"
        return f"Linux {release}"

    def read_sysctl(self, name: str) -> str:
        """Returns a value from the DUT's network namespace."""
        return " ".join(self.transport.run(["sysctl", "-n", name]).stdout.split())

    def routes(self) -> str:
        """Returns the addresses and routes of both families as iproute2 prints them."""
        commands = (["ip", "-brief", "address"], ["ip", "-4", "route"], ["ip", "-6", "route"])
        return "\n".join(f"# {' '.join(argv)}\n{self.transport.run(argv).stdout.rstrip()}" for argv in commands)

    def _write_sysctl(self, name: str, value: str) -> None:
        self.transport.run(["sysctl", "-qw", f"{name}={value}"])

    def _wait_up(self, interface: str, deadline: float) -> None:
        while True:
            state = self.transport.run(["cat", f"/sys/class/net/{interface}/operstate"]).stdout.strip()
            # Some drivers never report the state of their link, and forward nevertheless.
            if state in {"up", "unknown"}:
                return
            if time.monotonic() > deadline:
                raise DutError(
                    f"the DUT's interface {interface} is {state}, not up ({self.transport.describe()}); "
                    "check the cabling and `ip link`"
                )
            time.sleep(0.05)
