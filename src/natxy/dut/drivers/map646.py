# SPDX-License-Identifier: Apache-2.0
"""map646, a stateless translator in user space, which the user has built."""

from __future__ import annotations

import time
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.limits import mapped_hosts
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.base import Transport
from natxy.errors import DutError, GatewayMissingError
from natxy.plan.gateways.map646 import Map646Config
from natxy.plan.model.addresses import AddressPlan

# The name that map646 gives its interface.
INTERFACE: Final = "tun646"
_QUEUE_LENGTH: Final = 10_000
_START_S: Final = 5.0
_REMEDY: Final = "build it from https://github.com/keiichishima/map646 and give its path as the gateway's `program`"


class Map646Gateway(LinuxGateway[Map646Config]):
    """Routes translated traffic to map646's TUN interface."""

    name = "map646"
    summary = "map646, stateless in user space, of your own build: SIIT, and NAT46 without connections"
    position = 7

    @classmethod
    def programs(cls, config: Map646Config) -> dict[str, str]:
        return super().programs(config) | {config.program: _REMEDY}

    def __init__(
        self, config: Map646Config, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        translation = self.translation
        hosts = mapped_hosts(self.name, translation)
        self._routed = (translation.prefix, *(mapping.ipv4 for mapping in translation.mappings))
        self._settings = "\n".join(
            [
                f"mapping-prefix {translation.prefix.network_address}",
                *(f"map-static {ipv4} {ipv6}" for ipv4, ipv6 in hosts),
                "",
            ]
        )

    def install(self) -> None:
        """Starts map646. GatewayMissingError when the DUT does not have it."""
        if self.transport.run(["which", self.config.program], check=False).returncode != 0:
            raise GatewayMissingError(f"{self.config.program} not found ({self.transport.describe()}); {_REMEDY}")
        # A killed run may have left a map646 on a DUT that survives the run.
        self.uninstall()
        files = self._files()
        self.transport.run(["tee", files["conf"]], input=self._settings)
        # map646 stays in the foreground, which would block the transport.
        background = ["start-stop-daemon", "--start", "--background", "--make-pidfile", "--pidfile", files["pid"]]
        program = self.transport.run(["which", self.config.program]).stdout.strip()
        self.transport.run([*background, "--startas", program, "--", "-c", files["conf"]])
        self._wait_for_interface()
        self.transport.run(["ip", "link", "set", INTERFACE, "up", "txqueuelen", str(_QUEUE_LENGTH)])
        for network in self._routed:
            self.transport.run(["ip", "route", "replace", str(network), "dev", INTERFACE])

    def uninstall(self) -> None:
        files = self._files()
        stop = [
            "start-stop-daemon",
            "--stop",
            "--oknodo",
            "--retry",
            "2",
            "--remove-pidfile",
            "--pidfile",
            files["pid"],
        ]
        self.transport.run([*stop, "--name", self.config.program.rpartition("/")[2]], check=False)
        self.transport.run(["rm", "-f", *files.values()])

    def version(self) -> str:
        return f"map646 ({self.config.program}), {self.kernel()}"

    def configuration(self) -> str:
        return f"{self._settings}\n{self.routes()}"

    def _files(self) -> dict[str, str]:
        namespace = "".join(filter(str.isdigit, self.transport.run(["readlink", "/proc/self/ns/net"]).stdout))
        return {kind: f"/run/natxy-map646-{namespace}.{kind}" for kind in ("conf", "pid")}

    def _wait_for_interface(self) -> None:
        deadline = time.monotonic() + _START_S
        while self.transport.run(["ip", "link", "show", INTERFACE], check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise DutError(f"{self.config.program} made no interface {INTERFACE} within {_START_S:g} s")
            time.sleep(0.05)
