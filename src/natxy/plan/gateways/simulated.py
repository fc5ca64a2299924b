# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated gateway: a model in virtual time, which tests measure."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv6Network
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from natxy.addressing.port_sets import PortSet
from natxy.plan.gateways.limits import LimitsModel, Ratio
from natxy.plan.model.addresses import EmbeddingPrefix
from natxy.plan.model.base import PlanModel
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import SoftwireEnd, TranslationKind
from natxy.plan.model.units import AbsoluteRate, Duration


class AfterRestart(StrEnum):
    """The treatment of frames whose connections were made before a restart.

    `forward`: they pass as before. `misroute`: those from the left pass with other four-tuples, those from the right
    are dropped. `drop`: all are dropped.
    """

    FORWARD = "forward"
    MISROUTE = "misroute"
    DROP = "drop"


class Stalls(PlanModel):
    """Moments at random times, independent of each other, in which something else runs on the gateway's core."""

    every: Duration
    """Mean time from one stall to the next; the time between trials does not count."""
    duration: Duration
    """Time in which nothing is forwarded. Frames wait as far as `buffer_frames` allows, and further ones are lost."""
    watched: bool = True
    """Report the stalls as a lab reports them whose gateway's core is watched."""

    @field_validator("every")
    @classmethod
    def _some_time(cls, given: float) -> float:
        if given <= 0:
            raise ValueError("expected a time above 0 s; a gateway without stalls has no `stalls`")
        return given


# A longer one would outlast every drain.
_DelayNs = Annotated[int, Field(ge=0, le=10**12)]


class SimulatedConfig(LimitsModel):
    """A gateway in virtual time with known limits; for tests, and to try a plan without a machine."""

    in_virtual_time: ClassVar = True
    is_probed: ClassVar[bool] = False
    keeps_connections: ClassVar = None
    drops_unknown_replies: ClassVar = True
    serves_pairs: ClassVar = True
    translations: ClassVar = frozenset({None, *TranslationKind})
    softwire_ends: ClassVar = frozenset(SoftwireEnd)
    changes_bindings: ClassVar = True
    # They follow from a rule, and take no memory.
    most_subscribers: ClassVar = 1 << 32
    most_port_ranges: ClassVar = 1 << 32
    driver: Literal["simulated"] = "simulated"
    forwarding_fps: AbsoluteRate = 500_000.0
    """Most frames forwarded per second, both directions together."""
    buffer_frames: Annotated[int, Field(ge=0)] = 0
    """Frames that can wait to be forwarded, both directions together."""
    after_restart: AfterRestart = AfterRestart.FORWARD
    """Treatment of frames of earlier connections after a restart: `forward`, `misroute` or `drop`."""
    connection_rate_fps: AbsoluteRate = 200_000.0
    """Most connections set up per second."""
    connection_cost: Annotated[float, Field(ge=0)] = 0.0
    """Cost of every connection after the first, as a share of the time to set one up."""
    validation_fps: AbsoluteRate | None = None
    """Most replies of a validation forwarded per second, where that is less than `forwarding_fps`."""
    core_efficiency: Ratio = 1.0
    """Gain of each core after the first, as a share of the two rates."""
    tear_down_rate: AbsoluteRate = 1_000_000.0
    """Connections deleted per second."""
    clear_time: Duration = 0.01
    """Time to empty a table without connections."""
    ignores_clear: bool = False
    """Keep all connections when the table is emptied, and say that this was done."""
    stalls: Stalls | None = None
    """Random moments in which something else runs on the gateway's core; default: none."""
    forward_loss_ratio: Ratio = 0.0
    """Share of the frames from left to right that are lost."""
    reverse_loss_ratio: Ratio = 0.0
    """Share of the frames from right to left that are lost."""
    background_loss_ratio: Ratio = 0.0
    """Loss of native IPv6 traffic, instead of the loss of its direction."""
    port_set: PortSetModel | None = None
    """Ports of the public address that connections get; default: the table is the only limit."""
    first_range_only: bool = False
    """Use the first range of `port_set` alone."""
    ports_outside: Annotated[int, Field(ge=0, le=1024)] = 0
    """Ports, the lowest of all, that connections get beside those of `port_set`."""
    spoofed_ratio: Ratio = 0.0
    """Share of the frames of another's softwire that pass, of those that find room, beside the box `tester`."""
    frame_instructions: Annotated[int, Field(ge=1)] | None = None
    """Instructions counted for each frame; default: none are counted."""
    connection_instructions: Annotated[int, Field(ge=0)] = 0
    """Instructions counted for each new connection beside those of its frame."""
    idle_instructions: Annotated[int, Field(ge=0)] = 0
    """Instructions counted per second, whatever else is done."""
    dns64: EmbeddingPrefix | None = None
    """Prefix of a DNS64 server, which answers as many queries as it would forward frames; default: no such server."""
    forward_delay_ns: _DelayNs = 20_000
    """Least delay, left to right."""
    reverse_delay_ns: _DelayNs = 20_000
    """Least delay, right to left."""
    delay_spread_ns: _DelayNs = 30_000
    """Difference between the greatest and the least delay; all delays in between are equally frequent."""

    @property
    def dns64_prefix(self) -> IPv6Network | None:
        return self.dns64

    @property
    def own_ports(self) -> PortSet | None:
        return self.port_set.ports if self.port_set else None

    @property
    def ports_in_use(self) -> list[int] | None:
        """The ports that connections get, in the order in which they do; None without a port set."""
        if self.port_set is None:
            return None
        ranges = self.port_set.ports.ranges[: 1 if self.first_range_only else None]
        return [*range(self.ports_outside), *(port for each in ranges for port in each)]
