# SPDX-License-Identifier: Apache-2.0
"""Jool's stateless translator: explicit address mappings (RFC 7757), and a prefix for whom none covers (RFC 6052)."""

from __future__ import annotations

from typing import Any

from natxy.dut.drivers.jool import JoolTranslator
from natxy.plan.gateways import JoolSiitConfig


class JoolSiitGateway(JoolTranslator[JoolSiitConfig]):
    name = "jool-siit"
    summary = "Jool SIIT: SIIT, and NAT46 without connections; the kernel module, or in user-mode Linux"
    module = "jool_siit"

    def settings(self) -> dict[str, Any]:
        sides = (self.addresses.left, self.addresses.right)
        own_ipv4 = next(link.dut.ip for link in sides if link.dut.version == 4)
        return {
            # Its own IPv4 address for ICMP errors of IPv6 routers that no mapping has an address for (RFC 6791).
            "global": {**self.common_settings(), "rfc6791v4-prefix": f"{own_ipv4}/32"},
            "eamt": [
                {"ipv6 prefix": str(mapping.ipv6), "ipv4 prefix": str(mapping.ipv4)}
                for mapping in self.translation.mappings
            ],
        }
