# SPDX-License-Identifier: Apache-2.0
"""Settings of the gateways made with Tayga, a stateless translator in user space."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.gateways.linux import ConntrackModel
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.addresses import IPv4Prefix
from natxy.plan.model.terms import TranslationKind

Core = Annotated[int, Field(ge=0)]


class TaygaConfig(NeighborsModel):
    """Tayga alone: SIIT, NAT46 without connections, or the CLAT of a 464XLAT."""

    translations: ClassVar = frozenset({TranslationKind.SIIT, TranslationKind.NAT46, TranslationKind.CLAT})
    sends_zero_checksums: ClassVar[bool] = True
    cuts_long_packets: ClassVar = True
    takes_well_known_prefix: ClassVar = False
    driver: Literal["tayga"] = "tayga"
    core: Core | None = None
    """Core of the DUT for Tayga's one thread; any core when not given."""


class TaygaNetfilterConfig(ConntrackModel):
    """Stateful NAT64: Tayga gives each IPv6 host an IPv4 address of `hosts`, and nftables maps it to the pool."""

    translations: ClassVar = frozenset({TranslationKind.NAT64})
    sends_zero_checksums: ClassVar[bool] = True
    cuts_long_packets: ClassVar = True
    takes_well_known_prefix: ClassVar = False
    driver: Literal["tayga-netfilter"] = "tayga-netfilter"
    core: Core | None = None
    """Core of the DUT for Tayga's one thread; any core when not given."""
    hosts: IPv4Prefix = IPv4Network("172.16.0.0/12")
    """Addresses of the IPv6 hosts between Tayga and nftables: Tayga's dynamic pool, with one for each host."""

    @property
    def most_hosts(self) -> dict[str, int]:
        # The lowest one is reserved (tayga.conf, dynamic-pool).
        return {"hosts": self.hosts.num_addresses - 1}
