# SPDX-License-Identifier: Apache-2.0
"""What gateways made of the Linux kernel share: forwarding switched on, and links waited for."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from natxy.dut.base import ConfigT, DutDescription, DutInterfaces, Gateway
from natxy.dut.linux.conntrack import ConntrackTable
from natxy.dut.linux.links import LinuxLinks
from natxy.dut.linux.rps import napi_in_threads, steer, steered_to
from natxy.dut.transport.base import PowerSwitch, Transport
from natxy.dut.transport.hotplug import CoreSwitch
from natxy.errors import DutError
from natxy.plan.model.addresses import AddressPlan

LINK_UP_S = 10.0
FORWARDING = ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")


class LinuxGateway(Gateway[ConfigT]):
    """A driver gives `install`, `uninstall`, `version` and `configuration`, and a `table` if it is stateful."""

    table: ConntrackTable | None = None
    reported_sysctls: ClassVar[tuple[str, ...]] = (
        *FORWARDING,
        "net.ipv4.conf.all.rp_filter",
    )

    def __init__(
        self, config: ConfigT, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        self._links = LinuxLinks(transport, interfaces, addresses)

    @abstractmethod
    def install(self) -> None:
        """Adds what makes this gateway more than a router."""

    @abstractmethod
    def uninstall(self) -> None:
        """The reverse of `install`; harmless when nothing is installed."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def configuration(self) -> str: ...

    @classmethod
    def programs(cls, config: ConfigT) -> dict[str, str]:
        return {"ip": "apt install iproute2", "sysctl": "apt install procps"}

    def set_links(self) -> None:
        self._links.apply()

    def unset_links(self) -> None:
        self._links.remove()

    def apply(self) -> None:
        try:
            for name in FORWARDING:
                self.transport.network.hold(name, "1")
            if self.table:
                self.table.apply()
            self.install()
        except BaseException:
            with suppress(DutError):
                self.remove()
            raise

    def remove(self) -> None:
        self.uninstall()
        if self.table:
            self.table.remove()
        for name in FORWARDING:
            self.transport.network.release(name)

    def restart(self) -> None:
        """The kernel forwards nothing and knows no connection, and then is set up anew; a machine that can be switched
        off is."""
        if isinstance(self.transport, PowerSwitch):
            self.transport.restart()
            self.set_links()
            self.apply()
            self.wait_ready()
            return
        for name in FORWARDING:
            self._write_sysctl(name, "0")
        self.uninstall()
        self.clear()
        self.install()
        for name in FORWARDING:
            self._write_sysctl(name, "1")
        self.wait_ready()

    def describe(self) -> DutDescription:
        settings = {"kernel": self.kernel()} | {name: self.read_sysctl(name) for name in self.reported_sysctls}
        if isinstance(self.transport, CoreSwitch):
            settings["cores in service"] = ", ".join(map(str, self.transport.hot_plug.cores()))
        if mask := steered_to(self.transport, self.interfaces):
            settings["rps_cpus"] = mask
        if threaded := napi_in_threads(self.transport, self.interfaces):
            settings["threaded NAPI"] = ", ".join(threaded)
        if self.table:
            settings |= self.table.describe()
        return DutDescription(self.name, self.version(), settings, self.configuration())

    def wait_ready(self) -> None:
        for interface in (self.interfaces.left, self.interfaces.right):
            self._wait_up(interface, time.monotonic() + LINK_UP_S)

    def set_cores(self, cores: Sequence[int]) -> None:
        """For a gateway that does its work in the kernel's receive path: others get no frames, or, on a machine of its
        own, are out of service."""
        if isinstance(self.transport, CoreSwitch):
            self.transport.hot_plug.use(cores)
        else:
            steer(self.transport, self.interfaces, cores)

    def kernel(self) -> str:
        release = self.transport.run(["uname", "-r"]).stdout.strip()
        # What user-mode Linux calls its processor.
        if "User Mode Linux" in self.transport.run(["cat", "/proc/cpuinfo"]).stdout:
            return f"user-mode Linux {release}, one virtual CPU"
        return f"Linux {release}"

    def read_sysctl(self, name: str) -> str:
        """As the DUT's network namespace sees it."""
        return " ".join(self.transport.run(["sysctl", "-n", name]).stdout.split())

    def routes(self) -> str:
        """Addresses and routes of both families, in the words of iproute2."""
        commands = (["ip", "-brief", "address"], ["ip", "-4", "route"], ["ip", "-6", "route"])
        return "\n".join(f"# {' '.join(argv)}\n{self.transport.run(argv).stdout.rstrip()}" for argv in commands)

    def _write_sysctl(self, name: str, value: str) -> None:
        self.transport.run(["sysctl", "-qw", f"{name}={value}"])

    def _wait_up(self, interface: str, deadline: float) -> None:
        while True:
            state = self.transport.run(["cat", f"/sys/class/net/{interface}/operstate"]).stdout.strip()
            # Some drivers never say whether their link is there, and forward all the same.
            if state in {"up", "unknown"}:
                return
            if time.monotonic() > deadline:
                raise DutError(
                    f"the DUT's interface {interface} is {state}, not up ({self.transport.describe()}); "
                    "check the cabling and `ip link`"
                )
            time.sleep(0.05)
