# SPDX-License-Identifier: Apache-2.0
"""Writes the PF rules for the gateway of a plan."""

from __future__ import annotations

from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.limits import mapped_hosts
from natxy.plan.gateways.base import FIRST_PORT, LAST_PORT
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.model.terms import TranslationKind

# Per destination address and port. Without a range PF uses 50001 to 65535 alone.
_PORTS: Final = f"port {FIRST_PORT}:{LAST_PORT}"


def pf_rules(config: OpenbsdPfConfig, interfaces: DutInterfaces, addresses: AddressPlan) -> str:
    """Returns a whole pf.conf. Only translating rules keep states, so that the DUT's management has none."""
    lines = []
    if config.states is not None:
        lines.append(f"set limit states {config.states}")
    if config.udp_timeout_s is not None:
        timeout_s = config.udp_timeout_s
        lines.append(f"set timeout {{ udp.first {timeout_s}, udp.single {timeout_s}, udp.multiple {timeout_s} }}")
        # By default, PF shortens all lifetimes when the table is more than 60 % full: to half of them at 90 %.
        lines.append("set timeout { adaptive.start 0, adaptive.end 0 }")
    lines.append("pass no state")
    translation = addresses.translation
    if translation is None:
        family = "inet6" if addresses.left.dut.version == 6 else "inet"
        pool = addresses.pool
        traffic = f"on {interfaces.right} {family} proto {{ tcp, udp }} from any to any"
        if not config.nat:
            # What belongs to no state of a connection from the left.
            lines.append(f"block in {traffic}")
        source = f"nat-to {pool} {_PORTS} round-robin" if pool else f"nat-to {addresses.right.dut.ip} {_PORTS}"
        # UDP and TCP alone: neighbour solicitations would create states too, and have their source translated.
        lines.append(f"pass out {traffic} {source}" if config.nat else f"pass out {traffic}")
    elif translation.kind == TranslationKind.NAT64:
        source = f"af-to inet from {translation.pool} {_PORTS}"
        lines.append(f"pass in on {interfaces.left} inet6 from any to {translation.prefix} {source}")
    else:
        source = f"af-to inet6 from {translation.pool} {_PORTS}"
        lines += [
            f"pass in on {interfaces.left} inet from any to {ipv4} {source} to {ipv6}"
            for ipv4, ipv6 in mapped_hosts(config.driver, translation)
        ]
    return "\n".join([*lines, ""])
