# SPDX-License-Identifier: Apache-2.0
"""Gateways that the Linux kernel provides: plain forwarding, and stateful NAT44 and NAT66 by iptables or nftables."""

from __future__ import annotations

from natxy.dut.base import Capability
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.linux.netfilter import Chain, NetfilterGateway, NftablesTranslator, address_range, source_nat
from natxy.plan.gateways.linux import IptablesConfig, IptablesTarget, LinuxForwardConfig, NftablesConfig


class LinuxForwardGateway(LinuxGateway[LinuxForwardConfig]):
    """Forwards IPv4 and IPv6 without rules and without connection tracking."""

    name = "linux-forward"
    summary = "Linux kernel forwarding, IPv4 and IPv6: the baseline"
    position = 0
    capabilities = frozenset({Capability.SET_CORES})


class IptablesGateway(NetfilterGateway[IptablesConfig]):
    """Translates by one rule of iptables or ip6tables on the interface to the responder's side."""

    name = "iptables"
    summary = "iptables MASQUERADE or SNAT with connection tracking, legacy or nft: NAT44, or NAT66 with IPv6 addresses"
    position = 1

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
            return [*outside, "-j", "SNAT", "--to-source", address_range(self.addresses.public)]
        return [*outside, "-j", "MASQUERADE"]

    def install(self) -> None:
        # A killed run may have left its rule on a DUT that survives the run.
        self.uninstall()
        super().install()
        self._nat("--append")

    def uninstall(self) -> None:
        super().uninstall()
        while self._nat("--check", must_succeed=False):
            self._nat("--delete")

    def version(self) -> str:
        return f"{self.transport.run([self._program, '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run([self._program, "--wait", "-t", "nat", "--list-rules"]).stdout

    def _nat(self, command: str, *, must_succeed: bool = True) -> bool:
        argv = [self._program, "--wait", "-t", "nat", command, *self._rule]
        return self.transport.run(argv, check=must_succeed).returncode == 0


class NftablesGateway(NftablesTranslator[NftablesConfig]):
    """Translates on the interface to the responder's side, by masquerade or to a pool of addresses, or only filters."""

    name = "nftables"
    summary = "nftables with connection tracking: NAT44, or NAT66 with IPv6 addresses; or a stateful filter without NAT"
    position = 2

    @property
    def chain(self) -> Chain:
        right, pool = self.interfaces.right, self.addresses.pool
        if not self.config.nat:
            return Chain(
                "filter", "forward", "filter", ("ct state established,related accept", f'iifname "{right}" drop')
            )
        return source_nat(f'oifname "{right}" {f"snat to {address_range(pool)}" if pool else "masquerade"}')
