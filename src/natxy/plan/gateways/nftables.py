# SPDX-License-Identifier: Apache-2.0
"""Settings of NAT by nftables."""

from __future__ import annotations

from typing import Literal

from natxy.plan.gateways.conntrack import ConntrackModel


class NftablesConfig(ConntrackModel):
    """nftables masquerade with connection tracking: NAT44, or NAT66 where the plan's family is ipv6."""

    driver: Literal["nftables"] = "nftables"
