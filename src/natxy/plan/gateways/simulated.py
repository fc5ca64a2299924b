# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated gateway: the known truth that tests measure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.table_size import TableSize
from natxy.plan.model.terms import TranslationKind
from natxy.plan.model.units import AbsoluteRate, Duration


class TablePolicy(StrEnum):
    """What a full connection tracking table does with new connections.

    `keep`: refuses them, their frames are dropped. `lru`: each takes the place of the least recently used one; frames
    of all pass, and only validation shows it. `early-drop`: the same, but only connections that never had a reply are
    replaced; where all had one, it refuses new ones. `collapse`: the gateway stops forwarding, and its table cannot be
    emptied until it is restarted.
    """

    KEEP = "keep"
    LRU = "lru"
    EARLY_DROP = "early-drop"
    COLLAPSE = "collapse"


class AfterRestart(StrEnum):
    """What becomes of frames of the connections that were made before a restart.

    `forward`: they go through as before. `misroute`: those from the left come through with other four-tuples, those
    from the right are dropped. `drop`: all are.
    """

    FORWARD = "forward"
    MISROUTE = "misroute"
    DROP = "drop"


class SimulatedConfig(GatewayModel):
    """A gateway in virtual time with known limits; for tests and for trying a plan without a machine."""

    driver: Literal["simulated"] = "simulated"
    forwarding_fps: AbsoluteRate = Field(
        default=500_000.0, description="most frames forwarded per second, both directions together"
    )
    flow_cost: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="of every flow after the first, as a share of what forwarding a frame takes"
    )
    buffer_frames: Annotated[int, Field(ge=0)] = Field(
        default=0, description="frames that wait for being forwarded, of both directions together"
    )
    recovery_time: Duration = Field(default=0.0, description="after an overload's end, when nothing is forwarded")
    restart_time: Duration = Field(default=0.1, description="what a restart takes; nothing is forwarded meanwhile")
    after_restart: AfterRestart = AfterRestart.FORWARD
    connection_rate_fps: AbsoluteRate = Field(default=200_000.0, description="most connections set up per second")
    core_efficiency: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="what each core after the first adds to the two rates, as a share of them"
    )
    table_capacity: TableSize = 1_000_000
    table_policy: TablePolicy = TablePolicy.KEEP
    tear_down_rate: AbsoluteRate = Field(default=1_000_000.0, description="connections deleted per second")
    clear_time: Duration = Field(default=0.01, description="what emptying an empty table takes")
    forward_loss_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0
    reverse_loss_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0
    background_loss_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="of native IPv6 traffic, instead of its direction's"
    )
    forward_delay_ns: Annotated[int, Field(ge=0)] = Field(default=20_000, description="least delay, left to right")
    reverse_delay_ns: Annotated[int, Field(ge=0)] = Field(default=20_000, description="least delay, right to left")
    delay_spread_ns: Annotated[int, Field(ge=0)] = Field(
        default=30_000, description="between the least delay and the greatest; all in between are as frequent"
    )

    @property
    def keeps_connections(self) -> bool | None:
        return None

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({None, *TranslationKind})
