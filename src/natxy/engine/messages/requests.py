# SPDX-License-Identifier: Apache-2.0
"""Messages that request a trial: streams, flows, frame formats, limits."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from natxy.engine.messages.common import IPAddress, Message, Side
from natxy.plan.model.terms import MOST_ADDRESSES_LISTED, Family, Order


class Selection(StrEnum):
    """Which flow a frame belongs to.

    `random`: every field on its own; one of pseudorandom order is drawn uniformly for every frame (RFC 4814 §4), the
    others take their next value with every frame. `enumerate`: frame i takes flow i of the space in the fields' orders
    and starts again after the last.
    """

    RANDOM = "random"
    ENUMERATE = "enumerate"


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
    others: Annotated[list[IPAddress], Field(max_length=MOST_ADDRESSES_LISTED - 1)] = Field(default=[])

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
