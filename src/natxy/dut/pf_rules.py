# SPDX-License-Identifier: Apache-2.0
"""The rules that make PF the gateway that a plan asks for."""

from __future__ import annotations

from natxy.dut.base import DutInterfaces
from natxy.dut.mapped_hosts import mapped_hosts
from natxy.plan.addresses import AddressPlan
from natxy.plan.gateways import OpenbsdPfConfig
from natxy.plan.terms import TranslationKind


def pf_rules(config: OpenbsdPfConfig, interfaces: DutInterfaces, addresses: AddressPlan) -> str:
    """A whole pf.conf. Only the translating rules keep states, one a connection: what manages the DUT has none."""
    lines = []
    if config.states is not None:
        lines.append(f"set limit states {config.states}")
    if config.udp_timeout_s is not None:
        timeout_s = config.udp_timeout_s
        lines.append(f"set timeout {{ udp.first {timeout_s}, udp.single {timeout_s}, udp.multiple {timeout_s} }}")
    lines.append("pass no state")
    translation = addresses.translation
    if translation is None:
        family = "inet6" if addresses.left.dut.version == 6 else "inet"
        lines.append(f"pass out on {interfaces.right} {family} from any to any nat-to {addresses.right.dut.ip}")
    elif translation.kind == TranslationKind.NAT64:
        destination = f"from any to {translation.prefix} af-to inet from {translation.pool}"
        lines.append(f"pass in on {interfaces.left} inet6 {destination}")
    else:
        lines += [
            f"pass in on {interfaces.left} inet from any to {ipv4} af-to inet6 from {translation.pool} to {ipv6}"
            for ipv4, ipv6 in mapped_hosts(config.driver, translation)
        ]
    return "\n".join([*lines, ""])
