# SPDX-License-Identifier: Apache-2.0
"""The gateways a plan can name, with the settings each driver takes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from natxy.plan.units import AbsoluteRate, Count


class GatewayModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LinuxForwardConfig(GatewayModel):
    """The Linux kernel's IPv4 and IPv6 forwarding: the baseline of every report."""

    driver: Literal["linux-forward"] = "linux-forward"


class NftablesConfig(GatewayModel):
    """nftables masquerade with connection tracking: NAT44, or NAT66 where the plan's family is ipv6."""

    driver: Literal["nftables"] = "nftables"
    conntrack_max: Count | None = Field(
        default=None, description="nf_conntrack_max; left as the machine has it when not given"
    )
    hash_size: Count | None = Field(
        default=None, description="nf_conntrack_buckets; left as the machine has it when not given"
    )
    udp_timeout_s: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="nf_conntrack_udp_timeout: lifetime of an unreplied connection"
    )
    udp_stream_timeout_s: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="nf_conntrack_udp_timeout_stream: lifetime of a replied one"
    )


class SimulatedConfig(GatewayModel):
    """A gateway in virtual time with known limits; for tests and for trying a plan without a machine."""

    driver: Literal["simulated"] = "simulated"
    forwarding_fps: AbsoluteRate = Field(
        default=500_000.0, description="most frames forwarded per second, both directions together"
    )
    connection_rate_fps: AbsoluteRate = Field(default=200_000.0, description="most connections set up per second")
    table_capacity: Count = 1_000_000
    forward_loss_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0
    reverse_loss_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0


GatewayConfig = Annotated[LinuxForwardConfig | NftablesConfig | SimulatedConfig, Field(discriminator="driver")]
