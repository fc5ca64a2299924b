# SPDX-License-Identifier: Apache-2.0
"""Settings of the reference gateway, natxy-reference, which keeps all limits and faults exactly."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from natxy.addressing.port_sets import PortSet
from natxy.plan.gateways.base import TableNeed, addresses_by_hash, ports_per_destination
from natxy.plan.gateways.limits import LimitsModel, Ratio
from natxy.plan.model.base import PlanModel, Shorthand
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import MapEnd, SoftwireEnd, TranslationKind
from natxy.plan.model.units import AbsoluteRate, Count, Duration

# They follow from a rule, and take no memory.
_MOST_SUBSCRIBERS: Final = 1 << 32


class ReferenceMode(StrEnum):
    """`forward`: a router, or a stateless translator with `translation: siit` or `clat`.

    `nat`: NAT44 or NAT66, or with a `translation` NAT64 or NAT46, with a connection tracking table.
    """

    FORWARD = "forward"
    NAT = "nat"


class RateScope(StrEnum):
    """`aggregate`: both directions share the maximum rate. `direction`: each direction has a maximum of its own."""

    AGGREGATE = "aggregate"
    DIRECTION = "direction"


class PortChoice(StrEnum):
    """`preserve`: the host's own port if it is free, else the next free one.

    `random`: any free port, so that connections have other ports after a restart.
    """

    PRESERVE = "preserve"
    RANDOM = "random"


class PeriodicLoss(PlanModel):
    every: Count
    """Number of frames from one fault to the next."""
    frames: Count = 1
    """Number of frames with the fault at the end of each `every`."""

    @model_validator(mode="after")
    def _within_the_period(self) -> PeriodicLoss:
        if self.frames > self.every:
            raise ValueError(f"frames ({self.frames}) must not be above every ({self.every})")
        return self


class DelayShare(PlanModel):
    """A share of the frames, whose delays are uniformly distributed from `min` to `max`."""

    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the frames; all shares add up to 1."""
    min: Duration
    """Shortest delay."""
    max: Duration | None = None
    """Longest delay; the same as `min` when not given."""

    @model_validator(mode="after")
    def _ordered(self) -> DelayShare:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max ({self.max:g} s) must not be below min ({self.min:g} s)")
        return self


class Reordering(PlanModel):
    every: Count
    """Number of frames, of which one is overtaken."""
    by: Count = 1
    """Number of frames that overtake it; it waits for them 100 ms at most."""


class Faults(PlanModel):
    """Faults of one direction. Each counts the frames that the faults before it have let pass."""

    loss: Annotated[PeriodicLoss, Shorthand("every", "Loss")] | None = None
    """Loss at regular intervals, a number of frames or {every, frames}."""
    loss_ratio: Ratio = 0.0
    """Probability that a frame is lost."""
    wrong_port_every: Count | None = None
    """Every n-th frame has a wrong port and a right checksum."""
    corrupt_checksum_every: Count | None = None
    """Every n-th frame has a wrong UDP checksum."""
    zero_checksum_every: Count | None = None
    """Every n-th frame has a UDP checksum of 0, which over IPv6 is wrong."""
    duplicate_every: Count | None = None
    """Every n-th frame is sent twice."""
    reorder: Reordering | None = None
    """Overtaken frames at regular intervals."""
    delay: list[DelayShare] = Field(default=[])
    """Delays of the frames; the least that the program can do when not given."""
    keep_order: bool = False
    """No frame leaves before its predecessor, whatever its delay."""

    @model_validator(mode="after")
    def _whole(self) -> Faults:
        total = sum(each.share for each in self.delay)
        if self.delay and abs(total - 1) > 1e-9:
            raise ValueError(f"the shares of `delay` add up to {total:g}; expected 1")
        return self


class TcpFaults(PlanModel):
    """Faults of TCP alone, of both directions together."""

    drop_syn_ack_every: Count | None = None
    """Every n-th SYN-ACK is lost."""
    reset_every: Count | None = None
    """Every n-th SYN from the left is answered by an RST, and not forwarded."""
    shift_sequence_every: Count | None = None
    """Every n-th segment leaves with a sequence number that is off by one, and a right checksum."""


class Outages(PlanModel):
    """Times at random, independent of each other, in which all frames are lost but those of ARP and NDP."""

    every: Annotated[Duration, Field(ge=1e-3, le=3600)]
    """Mean time from the end of one to the next, whether frames flow or not."""
    duration: Annotated[Duration, Field(le=3600)]
    """Time of one outage."""


class MapFaults(PlanModel):
    """Faults of an end of MAP-T, in a chain with the box `tester`."""

    wrong_subscriber_every: Count | None = None
    """Every n-th packet has the IPv6 address of a neighbour: of the next PSID, or the next address."""
    leak_every: Count | None = None
    """Every n-th packet leaves as plain IPv4."""
    stale_binding: Annotated[PeriodicLoss, Shorthand("every", "Loss")] | None = None
    """Packets at regular intervals have an IPv6 address that their subscriber has no more, {every, frames}."""
    accepts_any_subscriber: bool = False
    """Packets become IPv4 although the IPv6 address is not that of their subscriber's IPv4 address and port."""


class SoftwireFaults(MapFaults):
    """Faults of an end of softwires, in a chain with the box `tester`: those of MAP-T, and those of outer headers."""

    option_every: Count | None = None
    """Every n-th packet has a header of options between its two IP headers, as Linux adds by default."""
    interface_source_every: Count | None = None
    """Every n-th packet has the address of the gateway's interface as its outer source."""
    hop_limit_every: Count | None = None
    """Every n-th packet has an outer hop limit of 1."""
    inner_fragments_every: Count | None = None
    """Every n-th packet is cut into two before it gets an outer header."""
    outer_fragments_every: Count | None = None
    """Every n-th packet is cut into two with its outer header."""


class ReferenceConfig(LimitsModel):
    """A program that forwards and translates with exact limits and faults; for `natxy calibrate`."""

    polls: ClassVar[bool] = True
    serves_pairs: ClassVar[bool] = True
    is_probed: ClassVar[bool] = False

    driver: Literal["reference"] = "reference"
    mode: ReferenceMode = ReferenceMode.FORWARD
    """`forward` or `nat`, with or without a translation."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """Seed of the random faults."""
    max_rate: AbsoluteRate | None = None
    """Frames forwarded per second; no limit when not given."""
    rate_scope: RateScope = RateScope.AGGREGATE
    """`aggregate`: both directions share `max_rate`; `direction`: each direction has it."""
    buffer_frames: Count = 64
    """Frames that pass in a burst above `max_rate`."""
    outages: Outages | None = None
    """Times at random in which all frames are lost; default: none."""
    connection_rate: AbsoluteRate | None = None
    """Connections set up per second; the first frames of further ones are dropped."""
    connection_burst: Count = 64
    """Connections set up at once above that rate."""
    without_state_every: Count | None = None
    """The frame of every n-th new connection is forwarded, but no state is kept."""
    closed_lifetime: Duration | None = None
    """Time after which a TCP connection expires that both sides have closed, or one has reset; default: `lifetime`."""
    forgets_on_fin: bool = False
    """A TCP connection is gone with its first FIN."""
    port_choice: PortChoice = PortChoice.PRESERVE
    """Port of a new connection: `preserve`, the host's own if it is free, or `random`."""
    port_set: PortSetModel | None = None
    """Ports that NAT gives, each of them, as the customer's end of lw4o6, MAP-E or MAP-T; default: 1024 to 65535."""
    first_range_only: bool = False
    """NAT gives only the ports of the set's first range."""
    tcp: TcpFaults = TcpFaults()
    """Faults of TCP alone."""
    forward: Faults = Faults()
    """Faults from left to right."""
    reverse: Faults = Faults()
    """Faults from right to left."""
    softwire: SoftwireFaults | None = None
    """Faults as an end of softwires; default: none."""
    map_t: MapFaults | None = None
    """Makes the gateway an end of MAP-T instead, with these faults; `{}` for none."""

    @model_validator(mode="after")
    def _gives_ports(self) -> ReferenceConfig:
        if self.port_set and self.mode != ReferenceMode.NAT:
            raise ValueError("a router gives no ports; remove `port_set`, or give `mode: nat`")
        if self.first_range_only and not self.port_set:
            raise ValueError("`first_range_only` is the fault of a port set; give a `port_set`, or remove it")
        return self

    @model_validator(mode="after")
    def _one_end(self) -> ReferenceConfig:
        if self.softwire and self.map_t:
            raise ValueError("the gateway is an end of softwires or of MAP-T; remove `softwire` or `map_t`")
        return self

    @model_validator(mode="after")
    def _faults_of_plain_segments(self) -> ReferenceConfig:
        if self.tcp != TcpFaults() and (self.softwire or self.map_t):
            raise ValueError("an end of softwires or of MAP-T has no faults of TCP; remove `tcp`")
        return self

    @property
    def softwire_ends(self) -> frozenset[SoftwireEnd]:
        return frozenset() if self.map_t else frozenset(SoftwireEnd)

    @property
    def map_ends(self) -> frozenset[MapEnd]:
        return frozenset(MapEnd) if self.map_t else frozenset()

    @property
    def changes_bindings(self) -> bool:
        # An AFTR's NAT knows its subscribers by their connections.
        return self.mode == ReferenceMode.FORWARD

    @property
    def most_subscribers(self) -> int:
        return _MOST_SUBSCRIBERS

    @property
    def keeps_homes_apart(self) -> bool:
        return self.mode == ReferenceMode.NAT

    @property
    def most_port_ranges(self) -> int:
        return _MOST_SUBSCRIBERS

    @property
    def keeps_connections(self) -> bool | None:
        return self.mode == ReferenceMode.NAT

    @property
    def own_ports(self) -> PortSet | None:
        return self.port_set.ports if self.port_set else None

    @property
    def ports_of_address(self) -> int:
        return len(self.own_ports) if self.own_ports else super().ports_of_address

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        return ports_per_destination(need) if self.keeps_connections else None

    def addresses_in_use(self, need: TableNeed, pool: int) -> float:
        return addresses_by_hash(need.hosts, pool, pool)

    @property
    def no_pool(self) -> str | None:
        return None if self.hides_left else super().no_pool

    @property
    def hides_left(self) -> bool:
        return self.mode == ReferenceMode.NAT

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        if self.mode == ReferenceMode.NAT:
            return frozenset({None, TranslationKind.NAT64, TranslationKind.NAT46})
        return frozenset({None, TranslationKind.SIIT, TranslationKind.CLAT})
