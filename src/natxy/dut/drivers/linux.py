# SPDX-License-Identifier: Apache-2.0
"""Gateways that the Linux kernel provides: plain forwarding, and stateful NAT44 and NAT66 by iptables or nftables."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network

from natxy.dut.base import Capability
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.linux.netfilter import Chain, NetfilterGateway, NftablesTranslator, address_range, source_nat
from natxy.plan.gateways.linux import IptablesConfig, IptablesTarget, LinuxForwardConfig, NftablesConfig
from natxy.plan.model.addresses import IPNetwork


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
    def _rules(self) -> list[list[str]]:
        """Returns a rule for each interface to the right."""
        public = [self.addresses.public, *(ip_network(pair.right.dut.ip) for pair in self.addresses.further)]
        return [
            [*("POSTROUTING", "-o", pair.right), *self._target(own)]
            for pair, own in zip(self.interfaces.pairs, public, strict=True)
        ]

    def _target(self, public: IPNetwork) -> list[str]:
        if self.config.target == IptablesTarget.SNAT:
            return ["-j", "SNAT", "--to-source", address_range(public)]
        return ["-j", "MASQUERADE"]

    def install(self) -> None:
        # A killed run may have left its rule on a DUT that survives the run.
        self.uninstall()
        super().install()
        for rule in self._rules:
            self._nat("--append", rule)

    def uninstall(self) -> None:
        super().uninstall()
        for rule in self._rules:
            while self._nat("--check", rule, must_succeed=False):
                self._nat("--delete", rule)

    def version(self) -> str:
        return f"{self.transport.run([self._program, '--version']).stdout.strip()}, {self.kernel()}"

    def configuration(self) -> str:
        return self.transport.run([self._program, "--wait", "-t", "nat", "--list-rules"]).stdout

    def _nat(self, command: str, rule: list[str], *, must_succeed: bool = True) -> bool:
        argv = [self._program, "--wait", "-t", "nat", command, *rule]
        return self.transport.run(argv, check=must_succeed).returncode == 0


class NftablesGateway(NftablesTranslator[NftablesConfig]):
    """Translates on the interface to the responder's side, by masquerade or to a pool of addresses, or only filters."""

    name = "nftables"
    summary = "nftables with connection tracking: NAT44, or NAT66 with IPv6 addresses; or a stateful filter without NAT"
    position = 2

    @property
    def chain(self) -> Chain:
        right, pool = self._right, self.addresses.pool
        if not self.config.nat:
            return Chain(
                "filter", "forward", "filter", ("ct state established,related accept", f"iifname {right} drop")
            )
        if self.config.port_set:
            public = [self.addresses.public, *(ip_network(pair.right.dut.ip) for pair in self.addresses.further)]
            ranges = self.config.port_set.ports.ranges
            return source_nat(
                *(
                    f'oifname "{pair.right}" meta l4proto {{ tcp, udp }} {_to_ranges(str(own[0]), ranges)}'
                    for pair, own in zip(self.interfaces.pairs, public, strict=True)
                )
            )
        return source_nat(f"oifname {right} {f'snat to {address_range(pool)}' if pool else 'masquerade'}")

    @property
    def _right(self) -> str:
        """Returns the interfaces to the right in the words of nft."""
        names = [f'"{pair.right}"' for pair in self.interfaces.pairs]
        return names[0] if len(names) == 1 else f"{{ {', '.join(names)} }}"


def _to_ranges(address: str, ranges: Sequence[range]) -> str:
    """Returns the end of a rule that gives connections ports of these ranges in turn.

    A list of rules would give those of the first range alone: the first rule that fits decides, also where it finds no
    free port.
    """
    own = [f"{address} . {each[0]}-{each[-1]}" for each in ranges]
    if len(own) == 1:
        return f"snat to {own[0].replace(' . ', ':')}"
    in_turn = ", ".join(f"{number} : {each}" for number, each in enumerate(own))
    return f"snat ip to numgen inc mod {len(own)} map {{ {in_turn} }}"
