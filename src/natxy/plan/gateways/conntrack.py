# SPDX-License-Identifier: Apache-2.0
"""Settings of every gateway that keeps its connections in Linux's connection tracking table."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.table_size import TableSize


class ConntrackModel(GatewayModel):
    """What is not given stays as the machine has it."""

    conntrack_max: TableSize | None = Field(
        default=None, description="nf_conntrack_max; left as the machine has it when not given"
    )
    hash_size: TableSize | None = Field(
        default=None, description="nf_conntrack_buckets; left as the machine has it when not given"
    )
    udp_timeout_s: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="nf_conntrack_udp_timeout: lifetime of an unreplied connection"
    )
    udp_stream_timeout_s: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="nf_conntrack_udp_timeout_stream: lifetime of a replied one"
    )

    @property
    def keeps_connections(self) -> bool | None:
        return True

    @property
    def hides_left(self) -> bool:
        return True
