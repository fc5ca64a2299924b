# SPDX-License-Identifier: Apache-2.0
"""VPP with its plugin `dslite`, which the user has built: the AFTR of DS-Lite in user space (RFC 6333)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address

from natxy.dut.base import Capability, DutDescription
from natxy.dut.drivers.vpp.process import VppProcess
from natxy.dut.transport.base import PowerSwitch
from natxy.errors import DutError
from natxy.plan.gateways.vpp import VppDsliteConfig


class VppDsliteGateway(VppProcess[VppDsliteConfig]):
    """Is an AFTR: VPP takes packets out of softwires, and gives each B4's address and port a port of the pool.

    VPP has no command that forgets sessions, so that it is started anew for each empty table. Its number of sessions is
    not that of connections, and VPP forwards nothing while it prints them.
    """

    name = "vpp-dslite"
    summary = "VPP's plugin dslite in user space, of your own build: the AFTR of DS-Lite with its NAT44; untried"
    position = 7
    capabilities = frozenset({Capability.CLEAR})

    def plugin_commands(self) -> Iterable[str]:
        pool = self.addresses.public
        return (
            f"dslite set aftr-tunnel-endpoint-address {self.softwire.own}",
            f"dslite add pool address {pool[0]} - {pool[-1]}",
        )

    def missing(self) -> str:
        pool = self.addresses.public
        if str(self.softwire.own) not in self._addresses("aftr-tunnel-endpoint-address"):
            return f"address {self.softwire.own}"
        return "" if str(pool[-1]) in self._addresses("pool") else f"pool {pool}"

    def clear(self) -> None:
        self._start_anew()
        if "sessions" in self.vppctl("show", "dslite", "sessions"):
            raise DutError(
                f"{self.config.program} was started anew and has sessions already; let nothing else send through the "
                f"interfaces {' and '.join(self.interfaces.names)}"
            )

    def restart(self) -> None:
        if isinstance(self.transport, PowerSwitch):
            super().restart()
        else:
            self._start_anew()

    def describe(self) -> DutDescription:
        found = super().describe()
        return replace(found, settings=found.settings | {"emptied by": "starting VPP anew"})

    def _start_anew(self) -> None:
        self.install()
        self.wait_ready()

    def _addresses(self, what: str) -> set[str]:
        """Returns the addresses that VPP shows of its plugin, as Python writes them."""
        found = set()
        for word in self.vppctl("show", "dslite", what).split():
            try:
                found.add(str(ip_address(word)))
            except ValueError:
                # The head of a list.
                continue
        return found
