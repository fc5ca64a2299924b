# SPDX-License-Identifier: Apache-2.0
"""The messages of natxy-reference that natxy-engine does not have.

The program checks the same rules (engine/reference/). Some parts of a plan's faults are sent unchanged.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Annotated

from pydantic import Field

from natxy.engine.messages.common import IPAddress, IPNetwork, Message, Pair, Side
from natxy.engine.messages.requests import SoftwireFormat, SubscriberRule
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.gateways.reference import PeriodicLoss, PortChoice, RateScope, Reordering
from natxy.plan.model.addresses import AddressMapping
from natxy.plan.model.terms import SoftwireEnd


class GatewayMode(StrEnum):
    FORWARD = "forward"
    NAT44 = "nat44"
    NAT66 = "nat66"
    NAT64 = "nat64"
    NAT46 = "nat46"
    SIIT = "siit"
    CLAT = "clat"


class GatewayLink(Message):
    """`addresses` are the gateway's own on this side of a pair of ports, `neighbors` those whose MAC addresses it
    resolves."""

    side: Side
    pair: Pair = 0
    addresses: list[IPAddress]
    neighbors: list[IPAddress]


class GatewayPortSet(Message):
    """The ports of a set (RFC 7597 §5.1), or those of its first range."""

    psid: int
    psid_length: int
    offset: int
    first_range_only: bool = False


class GatewayTranslation(Message):
    pool: IPNetwork | None = None
    port_set: GatewayPortSet | None = None
    port_choice: PortChoice | None = None
    prefix: IPv6Network | None = None
    mappings: tuple[AddressMapping, ...] | None = None


class GatewayTable(Message):
    """The connection table. `closed_lifetime_s` is the lifetime of TCP connections that both sides have closed, or one
    has reset; by default it is `lifetime_s`. Without that, connections stay. With `forgets_on_fin`, the first FIN of
    either side ends one at once."""

    capacity: Annotated[int, Field(ge=1)]
    when_full: TablePolicy
    max_connection_rate_cps: float | None = None
    connection_burst: int | None = None
    without_state_every: int | None = None
    tear_down_rate_cps: float | None = None
    clear_s: float = 0.0
    flow_cost: float = 0.0
    lifetime_s: float | None = None
    closed_lifetime_s: float | None = None
    forgets_on_fin: bool = False


class GatewaySoftwire(Message):
    """The end of softwires that the gateway is, with its faults; the fields of the plan's `SoftwireFaults`."""

    end: SoftwireEnd
    addresses: SoftwireFormat
    wrong_subscriber_every: int | None = None
    option_every: int | None = None
    leak_every: int | None = None
    interface_source_every: int | None = None
    stale_binding: PeriodicLoss | None = None
    hop_limit_every: int | None = None
    inner_fragments_every: int | None = None
    outer_fragments_every: int | None = None
    accepts_any_subscriber: bool = False


class GatewayMap(Message):
    """The end of MAP-T that the gateway is, with its faults. `ipv4` has the subscribers' addresses."""

    end: SoftwireEnd
    subscribers: SubscriberRule
    ipv4: IPv4Network
    prefix: IPv6Network
    wrong_subscriber_every: int | None = None
    leak_every: int | None = None
    stale_binding: PeriodicLoss | None = None
    accepts_any_subscriber: bool = False


class ShareOfDelays(Message):
    share: float
    min_ns: int
    max_ns: int


class DirectionFaults(Message):
    """The faults of one direction; the fields of the plan's `Faults`, with delays in nanoseconds."""

    loss: PeriodicLoss | None = None
    loss_ratio: float = 0.0
    delay: list[ShareOfDelays] | None = None
    keep_order: bool = False
    duplicate_every: int | None = None
    reorder: Reordering | None = None
    corrupt_checksum_every: int | None = None
    wrong_port_every: int | None = None
    zero_checksum_every: int | None = None


class GatewayTcpFaults(Message):
    """The faults of TCP alone; the fields of the plan's `TcpFaults`."""

    drop_syn_ack_every: int | None = None
    reset_every: int | None = None
    shift_sequence_every: int | None = None


class GatewayOutages(Message):
    every_ns: int
    duration_ns: int


class BindingTruth(Message):
    delay_s: float
    outage_s: float


class GatewayTruth(Message):
    seed: int
    max_rate_fps: float | None = None
    buffer_frames: int
    rate_scope: RateScope
    recovery_s: float
    outages: GatewayOutages | None = None
    bindings: BindingTruth | None = None
    tcp: GatewayTcpFaults = GatewayTcpFaults()
    forward: DirectionFaults
    reverse: DirectionFaults


class GatewayApply(Message):
    mode: GatewayMode
    links: list[GatewayLink]
    translation: GatewayTranslation | None = None
    table: GatewayTable | None = None
    softwire: GatewaySoftwire | None = None
    map: GatewayMap | None = None
    truth: GatewayTruth


class AddressSpan(Message):
    first: IPv4Address
    last: IPv4Address


class GatewayBindings(Message):
    """Says which subscribers of a core have no binding, by their addresses; all others have one."""

    without: list[AddressSpan]


class GatewayRestart(Message):
    duration_s: float


class TableCleared(Message):
    cleared: int


class TableCount(Message):
    connections: int


class ExactnessRequest(Message):
    reset: bool


class Exactness(Message):
    """The gateway's own accuracy since the last reset.

    `longest_pause_ns` is the longest time between two looks at a port while frames flow, `pauses_ns` the sum of all
    longer than 1 ms. The lateness is that of frames that it delays on purpose.
    """

    longest_pause_ns: int
    pauses_ns: int
    lateness_p999_ns: int
    lateness_max_ns: int
