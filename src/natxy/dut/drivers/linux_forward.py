# SPDX-License-Identifier: Apache-2.0
"""Plain IPv4 and IPv6 forwarding by the Linux kernel: no rules, no connection tracking."""

from __future__ import annotations

from natxy.dut.base import Capability
from natxy.dut.linux.gateway import LinuxGateway
from natxy.plan.gateways import LinuxForwardConfig


class LinuxForwardGateway(LinuxGateway[LinuxForwardConfig]):
    name = "linux-forward"
    summary = "Linux kernel forwarding, IPv4 and IPv6: the baseline"
    capabilities = frozenset({Capability.SET_CORES})

    def install(self) -> None:
        """Forwarding alone is all there is."""

    def uninstall(self) -> None:
        """Nothing was installed."""

    def version(self) -> str:
        return self.kernel()

    def configuration(self) -> str:
        return self.routes()
