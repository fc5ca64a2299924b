# SPDX-License-Identifier: Apache-2.0
"""Settings of NAT by iptables."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from natxy.plan.gateways.conntrack import ConntrackModel
from natxy.plan.gateways.kernel import KernelModel


class IptablesBackend(StrEnum):
    """Which kernel interface the rule goes to: iptables-legacy's own tables, or nftables through iptables-nft."""

    LEGACY = "legacy"
    NFT = "nft"


class IptablesTarget(StrEnum):
    """`masquerade` looks up the outgoing interface's address for each connection, `snat` is told it once."""

    MASQUERADE = "masquerade"
    SNAT = "snat"


class IptablesConfig(ConntrackModel, KernelModel):
    """iptables NAT with connection tracking: NAT44, or by ip6tables NAT66 where the plan's family is ipv6."""

    driver: Literal["iptables"] = "iptables"
    backend: IptablesBackend = Field(default=IptablesBackend.NFT, description="iptables-nft or iptables-legacy")
    target: IptablesTarget = Field(default=IptablesTarget.MASQUERADE, description="of the rule that translates")
