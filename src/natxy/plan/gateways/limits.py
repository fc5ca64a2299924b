# SPDX-License-Identifier: Apache-2.0
"""Settings that the simulated and the reference gateway share: both keep limits that the plan sets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.table_size import TableSize
from natxy.plan.model.units import AbsoluteRate, Duration

Ratio = Annotated[float, Field(ge=0, le=1)]


class TablePolicy(StrEnum):
    """The behaviour of a full connection tracking table towards new connections.

    `keep` refuses them and drops their frames. `lru` replaces the least recently used connection: the frames of all
    pass, and only validation shows the loss. `early-drop` replaces only connections that never had a reply, and refuses
    new ones where all had one. `collapse` stops the gateway: it forwards nothing, and its table cannot be emptied,
    until it is restarted.
    """

    KEEP = "keep"
    LRU = "lru"
    EARLY_DROP = "early-drop"
    COLLAPSE = "collapse"


class LimitsModel(GatewayModel):
    """A gateway whose behaviour is set by the plan, so that the right results of measurements are known."""

    flow_cost: Annotated[float, Field(ge=0)] = 0.0
    """Cost of every flow or connection after the first, as a share of the time to forward a frame."""
    recovery_time: Duration = 0.0
    """Time after an overload in which nothing is forwarded."""
    restart_time: Duration = 0.1
    """Time that a restart takes; nothing is forwarded meanwhile."""
    table_capacity: TableSize = 1_000_000
    """Number of connections that the table holds."""
    table_policy: TablePolicy = TablePolicy.KEEP
    """Treatment of a new connection by a full table: `keep`, `lru`, `early-drop` or `collapse`."""
    lifetime: Annotated[Duration, Field(gt=0)] | None = None
    """Time without a frame after which a connection expires; without it, connections stay."""
    tear_down_rate: AbsoluteRate | None = None
    """Connections deleted per second."""
    clear_time: Duration = 0.0
    """Time to empty a table without connections."""

    binding_time: Duration = 0.0
    """Time after which a change of subscribers' bindings is confirmed."""
    binding_delay: Duration = 0.0
    """Time after which it is in force."""
    binding_outage: Duration = 0.0
    """Time from its begin on in which no frame of any subscriber passes."""

    def clearing_s(self, connections: int) -> float:
        """Returns the seconds that emptying a table with this many connections takes."""
        return self.clear_time + (connections / self.tear_down_rate if self.tear_down_rate else 0.0)
