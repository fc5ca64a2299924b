# SPDX-License-Identifier: Apache-2.0
"""Jool's stateless translator: SIIT by explicit address mappings (RFC 7757)."""

from __future__ import annotations

from typing import Any

from natxy.dut.jool import JoolTranslator
from natxy.plan.gateways import JoolSiitConfig


class JoolSiitGateway(JoolTranslator[JoolSiitConfig]):
    name = "jool-siit"
    summary = "Jool SIIT: stateless translation by address mappings; the kernel module, or in user-mode Linux"
    module = "jool_siit"

    def settings(self) -> dict[str, Any]:
        return {
            # Its own IPv4 address for ICMP errors of IPv6 routers that no mapping has an address for (RFC 6791).
            "global": {**self.common_settings(), "rfc6791v4-prefix": f"{self.addresses.right.dut.ip}/32"},
            "eamt": [
                {"ipv6 prefix": str(mapping.ipv6), "ipv4 prefix": str(mapping.ipv4)}
                for mapping in self.translation.mappings
            ],
        }
