# SPDX-License-Identifier: Apache-2.0
"""map646, a stateless translator in user space, which the user has built."""

from __future__ import annotations

import time
from typing import Final

from natxy.dut.limits import mapped_hosts
from natxy.dut.linux.background import BackgroundProgram
from natxy.dut.linux.tun import TunGateway
from natxy.errors import DutError
from natxy.plan.gateways.map646 import Map646Config
from natxy.plan.model.addresses import IPNetwork

_START_S: Final = 5.0
_REMEDY: Final = "build it from https://github.com/keiichishima/map646 and give its path as the gateway's `program`"


class Map646Gateway(TunGateway[Map646Config]):
    """Routes translated traffic to map646's TUN interface."""

    name = "map646"
    summary = "map646, stateless in user space, of your own build: SIIT, and NAT46 without connections; untried"
    position = 7
    process = "map646"
    # The name that map646 gives its interface.
    tun = "tun646"

    @classmethod
    def programs(cls, config: Map646Config) -> dict[str, str]:
        return super().programs(config) | {config.program: _REMEDY}

    def __post_init__(self) -> None:
        super().__post_init__()
        translation = self.translation
        hosts = mapped_hosts(self.name, translation)
        self._routed: tuple[IPNetwork, ...] = (translation.prefix, *(mapping.ipv4 for mapping in translation.mappings))
        mapped = [f"map-static {ipv4} {ipv6}" for ipv4, ipv6 in hosts]
        self._settings = "\n".join([f"mapping-prefix {translation.prefix.network_address}", *mapped, ""])

    def install(self) -> None:
        """Starts map646. GatewayMissingError when the DUT does not have it."""
        self._background.check_installed()
        # A killed run may have left a map646 on a DUT that survives the run.
        self.uninstall()
        self.transport.run(["tee", self._conf_file], input=self._settings)
        self._background.start(["-c", self._conf_file])
        self._wait_for_interface()
        self.route_to_tun(self._routed)

    def uninstall(self) -> None:
        self._background.stop(self._conf_file)

    @property
    def program_name(self) -> str:
        return self._background.name

    @property
    def _background(self) -> BackgroundProgram:
        return BackgroundProgram(self.transport, self.config.program, _REMEDY, self.run_path)

    @property
    def _conf_file(self) -> str:
        return f"{self.run_path}.conf"

    def version(self) -> str:
        return f"map646 ({self.config.program}), {self.kernel()}"

    def configuration(self) -> str:
        return f"{self._settings}\n{self.routes()}"

    def _wait_for_interface(self) -> None:
        deadline = time.monotonic() + _START_S
        while self.transport.run(["ip", "link", "show", self.tun], check=False).returncode != 0:
            if time.monotonic() > deadline:
                text = f"{self.config.program} made no interface {self.tun} within {_START_S:g} s"
                raise DutError(f"{text}; it printed: {self._background.last_words()}")
            time.sleep(0.05)
