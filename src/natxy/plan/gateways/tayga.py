# SPDX-License-Identifier: Apache-2.0
"""Settings of the gateways made with Tayga, a stateless translator in user space."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.linux import ConntrackModel
from natxy.plan.model.terms import TranslationKind

Core = Annotated[int, Field(ge=0)]
_CORE = "core of the DUT for Tayga's one thread; any core when not given"


class TaygaConfig(GatewayModel):
    """Tayga alone: SIIT, or NAT46 without connections."""

    driver: Literal["tayga"] = "tayga"
    core: Core | None = Field(default=None, description=_CORE)

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({TranslationKind.SIIT, TranslationKind.NAT46})


class TaygaNetfilterConfig(ConntrackModel):
    """Stateful NAT64: Tayga gives each IPv6 host an IPv4 address of `hosts`, and nftables maps it to the pool."""

    driver: Literal["tayga-netfilter"] = "tayga-netfilter"
    core: Core | None = Field(default=None, description=_CORE)
    hosts: IPv4Network = Field(
        default=IPv4Network("172.16.0.0/12"), description="addresses of the IPv6 hosts between Tayga and nftables"
    )

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({TranslationKind.NAT64})
