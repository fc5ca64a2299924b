# SPDX-License-Identifier: Apache-2.0
"""Every message between the control plane and natxy-engine, as typed models.

The engine checks the same rules on its side (engine/rpc/messages.hpp). An unknown field, a wrong type or a
value out of range is an error reply that names the field. Rates are frames per second of one stream, times are
seconds or nanoseconds as their names say, frame sizes count the FCS.
"""

from __future__ import annotations

import math
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from natxy.plan.terms import MOST_ADDRESSES_LISTED, Family, Order

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"

    @property
    def opposite(self) -> Side:
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


class Selection(StrEnum):
    """Which flow a frame belongs to.

    `random`: every field on its own; one of pseudorandom order is drawn uniformly for every frame (RFC 4814 §4), the
    others take their next value with every frame. `enumerate`: frame i takes flow i of the space in the fields' orders
    and starts again after the last.
    """

    RANDOM = "random"
    ENUMERATE = "enumerate"


# --- engine.info -------------------------------------------------------------------------------------------------


class EngineInfo(Message):
    """`tsc_hz`: the rate of the time stamp counter, the engine's clock, as calibrated against CLOCK_MONOTONIC_RAW when
    the engine started; it is known to `tsc_uncertainty_ppm`. `tsc_error_ppm`: by how much DPDK's own estimate, which
    the engine does not use, is above it."""

    name: str
    version: str
    protocol: int
    dpdk: str
    compiler: str
    worker_cores: list[int]
    hugepages: bool
    tsc_hz: int
    tsc_error_ppm: float
    tsc_uncertainty_ppm: float


# --- ports -------------------------------------------------------------------------------------------------------


class PortMedium(StrEnum):
    """What a port is made of decides who is to blame when it takes no more frames.

    `veth`, and `memif` (memory shared with the DUT's process): refused frames mean that the DUT's path takes no more
    (the DUT fails); `nic`: the tester's own limit (the trial is invalid); `loop`: no DUT at all (rings, net_null).
    """

    VETH = "veth"
    MEMIF = "memif"
    NIC = "nic"
    LOOP = "loop"


class PortSpec(Message):
    """`device`: a DPDK device with its arguments (`net_af_xdp0,iface=left`) or a PCI address (`0000:41:00.0`).

    `mtu`: 1500 unless given. A network interface behind a virtual device has to have it already.
    """

    side: Side
    device: str
    medium: PortMedium
    mac: str | None = Field(default=None, description="overrides the port's own address; xx:xx:xx:xx:xx:xx")
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    mtu: Annotated[int, Field(ge=576, le=9600)] | None = None


class PortsOpen(Message):
    ports: list[PortSpec]


class PortState(Message):
    side: Side
    device: str
    driver: str
    mac: str
    mtu: int
    link_up: bool
    rx_queues: int
    tx_queues: int


class PortsOpened(Message):
    ports: list[PortState]


# --- neighbors ---------------------------------------------------------------------------------------------------


class NeighborSide(Message):
    """One link address family of one side.

    `address`: the tester's own address on the link. `gateway`: the DUT's. `answers`: every prefix the tester
    answers ARP or neighbour solicitations for (RFC 2544 §25), besides `address`; never for `gateway`.
    """

    side: Side
    address: IPAddress
    gateway: IPAddress
    answers: list[IPNetwork] = []


class NeighborsResolve(Message):
    neighbors: list[NeighborSide]
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 3.0


class ResolvedNeighbor(Message):
    side: Side
    gateway: IPAddress
    mac: str


class NeighborsResolved(Message):
    neighbors: list[ResolvedNeighbor]


# --- flows -------------------------------------------------------------------------------------------------------


class AddressField(Message):
    """One address or several, in each of which the same contiguous bit field may vary.

    The field's value v, `min` <= v <= `max` (at most 32 bits), stands `low_bit` bits above the least significant
    bit of the address; those bits of `address` and of each of `others` are replaced. `min` = `max` = None: no bit
    varies. No two addresses may be the same but for the bits that vary, and together they are at most 2^32. In order,
    all values of one address come before those of the next.
    """

    address: IPAddress
    low_bit: Annotated[int, Field(ge=0, le=127)] = 0
    min: Annotated[int, Field(ge=0, le=0xFFFFFFFF)] | None = None
    max: Annotated[int, Field(ge=0, le=0xFFFFFFFF)] | None = None
    order: Order = Order.PSEUDORANDOM
    others: Annotated[list[IPAddress], Field(max_length=MOST_ADDRESSES_LISTED - 1)] = []

    @property
    def size(self) -> int:
        values = 1 if self.min is None or self.max is None else self.max - self.min + 1
        return values * (1 + len(self.others))


class PortField(Message):
    min: Annotated[int, Field(ge=0, le=65535)]
    max: Annotated[int, Field(ge=0, le=65535)]
    order: Order = Order.PSEUDORANDOM

    @property
    def size(self) -> int:
        return self.max - self.min + 1


class FlowSpace(Message):
    """All four-tuples a stream may use. Most significant first: destination address, source address,
    destination port, source port (RFC 9693 §4.4)."""

    source_address: AddressField
    destination_address: AddressField
    source_port: PortField
    destination_port: PortField

    @property
    def size(self) -> int:
        fields = (self.source_address, self.destination_address, self.source_port, self.destination_port)
        return math.prod(field.size for field in fields)


# --- trials ------------------------------------------------------------------------------------------------------


class FrameFormat(Message):
    size: Annotated[int, Field(ge=64, le=9216, description="bytes on the wire, FCS counted")]
    ttl: Annotated[int, Field(ge=1, le=255)] = 64
    dont_fragment: bool = False


class StreamKind(StrEnum):
    """`flows`: frames made from `flows`. `connections`: phase 2 of the initiator, the established connections
    again. `replies`: phase 2 of the responder, swapped four-tuples of its state table (RFC 9693 §4.1)."""

    FLOWS = "flows"
    CONNECTIONS = "connections"
    REPLIES = "replies"


class TaggedFrames(Message):
    """Frames whose delays are reported one by one: number `first`, `first` + `stride`, … (RFC 8219 §7.2)."""

    first: Annotated[int, Field(ge=0, lt=2**48)]
    stride: Annotated[int, Field(ge=1, lt=2**48)]
    count: Annotated[int, Field(ge=1, le=1_000_000)]


class StreamSpec(Message):
    """One direction's traffic: `frames` frames at `rate_fps`, sent by port `source`, expected on the other one.

    `connections` and `replies` take their four-tuples from the last phase 1, in `order`; `flows` needs `flows`, and
    its frames arrive as `arrives_as`, the family of `flows` unless given: one of the other family is `misrouted`.
    `burst` frames leave back to back, at the same average rate (RFC 2544 §21). `start_s`: how long after the trial's
    start the stream begins; it ends within 30 days. `interleaved_with` names an earlier stream of the same source,
    whose schedule this one shares, bursts and all: of any frames in a row as many are this one's as of any others, in
    the same order whatever the pacing. Both begin together and last as long, and their frames are in a ratio that comes
    again after at most 1000.
    """

    name: str
    source: Side
    kind: StreamKind = StreamKind.FLOWS
    frame: FrameFormat
    rate_fps: Annotated[float, Field(gt=0, le=1e10)]
    frames: Annotated[int, Field(ge=1, lt=2**48)]
    flows: FlowSpace | None = None
    interleaved_with: str | None = None
    arrives_as: Family | None = None
    selection: Selection = Selection.RANDOM
    order: Order = Order.PSEUDORANDOM
    max_loss_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.0
    start_s: Annotated[float, Field(ge=0, le=86400)] = 0.0
    burst: Annotated[int, Field(ge=1, le=65536)] = 1
    tagged: TaggedFrames | None = None
    ipdv: bool = False


class TrialLimits(Message):
    """What makes a trial invalid: the tester's own lateness, never the DUT's doing (RFC 9693 is silent; the
    0.001 % bound is siitperf's and the field's).

    The last frame may leave `max_overrun_ratio` of the trial's planned duration late, or `overrun_floor_s` where
    that is longer. A burst follows every pause of the tester's own core longer than `max_pause_s`; a trial whose loss
    those bursts could explain is invalid too. So is one in which a link was down, unless `link_may_fall`, since the DUT
    is reset, and the link is up again at the end.
    """

    max_overrun_ratio: Annotated[float, Field(ge=0, le=1)] = 1e-5
    overrun_floor_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_pause_s: Annotated[float, Field(gt=0, le=10)] = 0.001
    link_may_fall: bool = False


class TrialRequest(Message):
    """`drain_s`: how long after the last frame residual frames are waited for (RFC 2544 §23: 2 s). `delay_histogram`:
    of delays, and of how late frames left."""

    streams: Annotated[list[StreamSpec], Field(min_length=1, max_length=8)]
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    drain_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    limits: TrialLimits = TrialLimits()
    delay_histogram: bool = False


class EstablishRequest(Message):
    """Phase 1 (RFC 9693 §4.4): frame i is connection i; the responder's state table remembers each.

    The stream's `frames` is the number of connections, its `selection` is `enumerate`; the space must hold that
    many.
    """

    stream: StreamSpec
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    drain_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    limits: TrialLimits = TrialLimits()


class ValidateRequest(Message):
    """The responder sends every connection's reply once (RFC 9693 §4.6)."""

    frame: FrameFormat
    rate_fps: Annotated[float, Field(gt=0, le=1e10)]
    order: Order = Order.PSEUDORANDOM
    max_loss_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    drain_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    limits: TrialLimits = TrialLimits()


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"


class Cause(StrEnum):
    """Why a verdict is what it is: one word for programs beside the sentence for people. `loss` passes where it is
    within `max_loss_ratio`."""

    LOSSLESS = "lossless"
    LOSS = "loss"
    BACK_PRESSURE = "back_pressure"
    LATE = "late"
    PAUSED = "paused"
    UNSENT = "unsent"
    TESTER_DROPS = "tester_drops"
    ABORTED = "aborted"
    LINK_DOWN = "link_down"


class Pacing(Message):
    """Lateness: actual minus due time of the oldest frame of each burst, weighted by the burst's frames."""

    median_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    overrun_ns: int = Field(description="lateness of the last frame")
    max_pause_ns: int = Field(description="longest time the sender's core did not come round to this stream")
    paused_ns: int = Field(default=0, description="all pauses longer than `max_pause_s` together")
    pauses_ns: int = Field(default=0, description="all pauses longer than 1 ms together")
    refused: int = Field(description="bursts that the port did not take whole")
    blocked_ns: int = Field(
        default=0, description="how long frames waited for the port to take them, since the sender was last on schedule"
    )
    histogram: list[tuple[int, int]] | None = Field(default=None, description="(upper bound in ns, frames)")


class DelaySummary(Message):
    """One-way delay of every distinct frame, send time stamp to reception (RFC 1242 §3.8, store and forward)."""

    count: int
    min_ns: int
    max_ns: int
    mean_ns: float
    median_ns: int
    p1_ns: int
    p99_ns: int
    p999_ns: int
    histogram: list[tuple[int, int]] | None = Field(default=None, description="(upper bound in ns, frames)")


class DelayVariation(Message):
    """Inter-packet delay variation D(i) − D(i−1) in sending order, signed, of every pair of which both arrived
    (RFC 5481 §4.1, RFC 8219 §7.3.2)."""

    pairs: int
    min_ns: int
    p1_ns: int
    median_ns: int
    p99_ns: int
    max_ns: int


class LostFrame(Message):
    """`due_s`: when it was to be sent, after the trial's start."""

    sequence: int
    due_s: float


class Silence(Message):
    """Between two arrivals that follow each other, times after the trial's start."""

    start_s: float
    duration_s: float


class StreamResult(Message):
    """received = distinct frames; lost = planned − received; late arrivals of earlier trials are the trial's
    `stale`. `corrupt`: our signature with a wrong checksum or length; `misrouted`: on the wrong port, or with a
    four-tuple that this stream never sent."""

    name: str
    planned: int
    sent: int
    unsent: int
    received: int
    lost: int
    duplicate: int
    reordered: int
    corrupt: int
    misrouted: int
    beyond_window: int
    intended_rate_fps: float
    offered_rate_fps: float
    pacing: Pacing
    delay: DelaySummary | None
    ipdv: DelayVariation | None = None
    tagged_delays_ns: list[int | None] | None = Field(default=None, description="in the order of sending; null: lost")
    first_lost: LostFrame | None = Field(default=None, description="known with one queue a port")
    last_lost: LostFrame | None = None
    longest_silence: Silence | None = None
    sent_per_second: list[int]
    received_per_second: list[int]


class PortResult(Message):
    """`missed`, `no_buffer`, `kernel_drops`: frames that the tester itself lost on reception. `rejected`: frames that
    the tester's kernel took and then refused to send."""

    side: Side
    missed: int
    no_buffer: int
    kernel_drops: int
    rejected: int = 0
    foreign: dict[str, int]


class ForeignSample(Message):
    side: Side
    kind: str
    time_ns: int
    data_base64: str


class TrialResult(Message):
    run_id: int
    verdict: Verdict
    cause: Cause
    reason: str
    duration_s: float
    streams: list[StreamResult]
    ports: list[PortResult]
    stale: int
    established: int | None = Field(default=None, description="connections in the state table (phase 1 only)")
    samples: list[ForeignSample] = []


# --- notifications -----------------------------------------------------------------------------------------------


class Progress(Message):
    """Five times a second while a trial runs; counters are approximate until the trial has drained."""

    elapsed_s: float
    planned: int
    sent: int
    received: int


class Log(Message):
    level: Literal["debug", "info", "warning", "error"]
    text: str


class ErrorCode:
    """JSON-RPC error codes of the engine besides the standard ones."""

    BAD_STATE = -32001  # e.g. replies asked for before a phase 1
    PORT = -32002  # a port cannot be opened
    UNREACHABLE = -32003  # the DUT does not answer ARP or neighbour solicitations
    RESOURCE = -32004  # no memory, no such core
    WORKER_STUCK = -32005  # a worker does not come back; the engine ends
