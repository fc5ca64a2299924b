# SPDX-License-Identifier: Apache-2.0
"""Stateful NAT44 by iptables or NAT66 by ip6tables: one rule on the interface to the responder's side."""

from __future__ import annotations

from natxy.dut.linux.netfilter import NetfilterGateway
from natxy.plan.gateways import IptablesConfig
from natxy.plan.gateways.iptables import IptablesTarget


class IptablesGateway(NetfilterGateway[IptablesConfig]):
    name = "iptables"
    summary = "iptables MASQUERADE or SNAT with connection tracking, legacy or nft: NAT44, or NAT66 with IPv6 addresses"

    @classmethod
    def programs(cls, config: IptablesConfig) -> dict[str, str]:
        return super().programs(config) | {f"iptables-{config.backend}": "apt install iptables"}

    @property
    def _program(self) -> str:
        family = "ip6tables" if self.addresses.left.dut.version == 6 else "iptables"
        return f"{family}-{self.config.backend}"

    @property
    def _rule(self) -> list[str]:
        outside = ["POSTROUTING", "-o", self.interfaces.right]
        if self.config.target == IptablesTarget.SNAT:
            return [*outside, "-j", "SNAT", "--to-source", str(self.addresses.right.dut.ip)]
        return [*outside, "-j", "MASQUERADE"]

    def install(self) -> None:
        # A killed run may have left its rule on a DUT that outlives it.
        self.uninstall()
        self._nat("--append")

    def uninstall(self) -> None:
        while self._nat("--check", must_succeed=False):
            self._nat("--delete")

    def version(self) -> str:
        return f"{self.transport.run([self._program, '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run([self._program, "--wait", "-t", "nat", "--list-rules"]).stdout

    def _nat(self, command: str, *, must_succeed: bool = True) -> bool:
        argv = [self._program, "--wait", "-t", "nat", command, *self._rule]
        return self.transport.run(argv, check=must_succeed).returncode == 0
