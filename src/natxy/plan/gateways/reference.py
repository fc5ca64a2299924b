# SPDX-License-Identifier: Apache-2.0
"""Settings of the reference gateway: its limits and faults, all of which it keeps exactly."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.simulated import TablePolicy
from natxy.plan.model.base import PlanModel, Shorthand
from natxy.plan.model.table_size import TableSize
from natxy.plan.model.terms import TranslationKind
from natxy.plan.model.units import AbsoluteRate, Count, Duration

Ratio = Annotated[float, Field(ge=0, le=1)]


class ReferenceMode(StrEnum):
    """`forward`: a router, or with `translation: siit` a stateless translator. `nat`: NAT44, NAT66, and with
    a `translation` NAT64 and NAT46, all with a connection tracking table."""

    FORWARD = "forward"
    NAT = "nat"


class RateScope(StrEnum):
    """`aggregate`: both directions share the maximum rate. `direction`: each has it to itself."""

    AGGREGATE = "aggregate"
    DIRECTION = "direction"


class PortChoice(StrEnum):
    """`preserve`: the host's own port if it is free, else the next free one. `random`: any, so that connections come
    back from a restart with other ports."""

    PRESERVE = "preserve"
    RANDOM = "random"


class PeriodicLoss(PlanModel):
    every: Count
    frames: Count = Field(default=1, description="the last so many of each `every`")

    @model_validator(mode="after")
    def _within_the_period(self) -> PeriodicLoss:
        if self.frames > self.every:
            raise ValueError(f"frames ({self.frames}) must not be above every ({self.every})")
        return self


class DelayShare(PlanModel):
    """All delays from `min` to `max` are as frequent."""

    share: Annotated[float, Field(gt=0, le=1)] = Field(default=1.0, description="of the frames; all shares make 1")
    min: Duration
    max: Duration | None = Field(default=None, description="the same as `min` when not given")

    @model_validator(mode="after")
    def _ordered(self) -> DelayShare:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max ({self.max:g} s) must not be below min ({self.min:g} s)")
        return self


class Reordering(PlanModel):
    every: Count
    by: Count = Field(default=1, description="the frame waits until so many more have left, 100 ms at most")


class Faults(PlanModel):
    """What befalls the frames of one direction. Each counts those that came as far as itself."""

    loss: Annotated[PeriodicLoss, Shorthand("every", "integer", "string")] | None = None
    loss_ratio: Ratio = Field(default=0.0, description="each frame is lost with this probability")
    wrong_port_every: Count | None = Field(default=None, description="has another port, with a right checksum")
    corrupt_checksum_every: Count | None = Field(default=None, description="has a wrong UDP checksum")
    duplicate_every: Count | None = Field(default=None, description="leaves twice")
    reorder: Reordering | None = None
    delay: list[DelayShare] = Field(default=[], description="as little as the program can when not given")
    keep_order: bool = Field(default=False, description="no frame leaves before its predecessor, whatever its delay")

    @model_validator(mode="after")
    def _whole(self) -> Faults:
        total = sum(each.share for each in self.delay)
        if self.delay and abs(total - 1) > 1e-9:
            raise ValueError(f"the shares of `delay` make {total:g}, and have to make 1")
        return self


class ReferenceConfig(GatewayModel):
    """A program that forwards and translates with limits and faults that are set and exact; for `natxy calibrate`."""

    driver: Literal["reference"] = "reference"
    mode: ReferenceMode = ReferenceMode.FORWARD
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    max_rate: AbsoluteRate | None = Field(default=None, description="frames forwarded per second; none when not given")
    rate_scope: RateScope = RateScope.AGGREGATE
    buffer_frames: Count = Field(default=64, description="frames that pass in a burst above `max_rate`")
    recovery_time: Duration = Field(default=0.0, description="after an overload, when nothing is forwarded")
    restart_time: Duration = Field(default=0.1, description="what a restart takes; nothing is forwarded meanwhile")
    table_capacity: TableSize = 1_000_000
    table_policy: TablePolicy = TablePolicy.KEEP
    connection_rate: AbsoluteRate | None = Field(
        default=None, description="connections set up per second; frames of others are dropped"
    )
    connection_burst: Count = Field(default=64, description="connections that are set up at once above that rate")
    without_state_every: Count | None = Field(
        default=None, description="of new connections: its frame is forwarded, but it is not kept"
    )
    flow_cost: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="of every connection after the first, as a share of what forwarding a frame takes"
    )
    port_choice: PortChoice = PortChoice.PRESERVE
    tear_down_rate: AbsoluteRate | None = Field(default=None, description="connections deleted per second")
    clear_time: Duration = Field(default=0.0, description="what emptying an empty table takes")
    forward: Faults = Field(default=Faults(), description="of left to right")
    reverse: Faults = Field(default=Faults(), description="of right to left")

    @property
    def keeps_connections(self) -> bool | None:
        return self.mode == ReferenceMode.NAT

    @property
    def hides_left(self) -> bool:
        return self.mode == ReferenceMode.NAT

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        if self.mode == ReferenceMode.NAT:
            return frozenset({None, TranslationKind.NAT64, TranslationKind.NAT46})
        return frozenset({None, TranslationKind.SIIT})
