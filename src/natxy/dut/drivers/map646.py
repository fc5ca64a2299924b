# SPDX-License-Identifier: Apache-2.0
"""Stateless translation between IPv6 and IPv4 by map646, of the user's own build."""

from __future__ import annotations

import time
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.mapped_hosts import mapped_hosts
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.base import Transport
from natxy.errors import DutError, GatewayMissingError
from natxy.plan.gateways import Map646Config
from natxy.plan.model.addresses import AddressPlan

# map646 names it so itself.
INTERFACE: Final = "tun646"
_QUEUE_LENGTH: Final = 10_000
_START_S: Final = 5.0
_TO_GET_IT: Final = "build it from https://github.com/keiichishima/map646 and give its path as the gateway's `program`"


class Map646Gateway(LinuxGateway[Map646Config]):
    name = "map646"
    summary = "map646, stateless in user space, of your own build: SIIT, and NAT46 without connections"

    @classmethod
    def programs(cls, config: Map646Config) -> dict[str, str]:
        return super().programs(config) | {config.program: _TO_GET_IT}

    def __init__(
        self, config: Map646Config, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        translation = addresses.translation
        assert translation is not None
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
        """GatewayMissingError when there is no map646."""
        if self.transport.run(["which", self.config.program], check=False).returncode != 0:
            raise GatewayMissingError(f"{self.config.program} not found ({self.transport.describe()}); {_TO_GET_IT}")
        # A killed run may have left one on a DUT that outlives it.
        self.uninstall()
        files = self._files()
        self.transport.run(["tee", files["conf"]], input=self._settings)
        # It stays in the foreground, and would keep the connection.
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
