# SPDX-License-Identifier: Apache-2.0
"""Messages that request a trial: frames, flows, streams and limits."""

from __future__ import annotations

import math
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Annotated

from pydantic import AfterValidator, Field

from natxy.addressing.embedding import embeds
from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.port_sets import PortSet
from natxy.addressing.softwire_tables import MOST_IN_TABLE, Bindings, Homes, SoftwireTable
from natxy.engine.messages.common import IPAddress, Message, Pair, Side, StreamRole
from natxy.plan.frames.forms import Form
from natxy.plan.frames.mix import MOST_FRAMES
from natxy.plan.frames.segments import Flags, Sender
from natxy.plan.frames.sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.model.address_ranges import MOST_ADDRESSES_LISTED
from natxy.plan.model.addresses import MapDomain, Softwire
from natxy.plan.model.terms import EarlyEnd, Family, Order, Selection, SoftwireEnd
from natxy.plan.testbeds.ports import MOST_PAIRS


class AddressField(Message):
    """One or more addresses with a contiguous bit field that may vary.

    The value v of the bit field, `min` <= v <= `max` (at most 32 bits), replaces the bits of `address` and of each of
    `others` from bit `low_bit` upwards. Without `min` and `max`, no bit varies. The addresses must differ in other bits
    than those that vary, and there are at most 2^32 together. In order, all values of one address precede those of the
    next.
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
    """All four-tuples that a stream may use.

    Most significant first: destination address, source address, destination port, source port (RFC 9693 §4.4).
    """

    source_address: AddressField
    destination_address: AddressField
    source_port: PortField
    destination_port: PortField

    @property
    def size(self) -> int:
        fields = (self.source_address, self.destination_address, self.source_port, self.destination_port)
        return math.prod(field.size for field in fields)


Size = Annotated[int, Field(ge=SMALLEST_FRAME[Family.IPV4], le=LONGEST_FRAME)]


Port = Annotated[int, Field(ge=0, le=0xFFFF)]


class SubscriberPorts(Message):
    """Says which ports subscribers have: from `lowest` on, those whose bits in `mask` are `value`. By default all."""

    lowest: Port = 0
    mask: Port = 0
    value: Port = 0

    @classmethod
    def of(cls, ports: PortSet) -> SubscriberPorts:
        """Returns the ports of one subscriber."""
        if ports.psid_length == 0:
            return cls()
        behind = 16 - ports.offset - ports.psid_length
        mask, value = ((1 << ports.psid_length) - 1) << behind, ports.psid << behind
        return cls(lowest=_lowest(ports.offset), mask=mask, value=value)


def _lowest(offset: int) -> int:
    """Returns the lowest port that a subscriber who shares its address may have (RFC 7597 §5.1)."""
    return 1 << 16 - offset if offset else 0


class SubscriberRule(Message):
    """Computes a subscriber's IPv6 address from its IPv4 address and port (RFC 7597 §5.2 and §6).

    The bits of `address_mask` are added to the first half of `address`, `address_shift` bits from its right. So are the
    bits of `psid_mask` in the port, from bit `psid_drop` on, at `psid_shift`; the bits of `address_xor` and of
    `psid_xor` are turned over before, which makes another subscriber's address. With `identifier`, the second half has
    the IPv4 address and the PSID. Without masks, all subscribers have the same address. A frame that arrives with
    another port of a subscriber than `ports` is foreign.
    """

    address: IPv6Address
    address_mask: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] = 0
    address_shift: Annotated[int, Field(ge=0, le=63)] = 0
    psid_mask: Annotated[int, Field(ge=0, le=0xFFFF)] = 0
    psid_drop: Annotated[int, Field(ge=0, le=15)] = 0
    psid_shift: Annotated[int, Field(ge=0, le=63)] = 0
    address_xor: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] = 0
    psid_xor: Annotated[int, Field(ge=0, le=0xFFFF)] = 0
    identifier: bool = False
    ports: SubscriberPorts = SubscriberPorts()

    @classmethod
    def of_one(cls, subscriber: MapSubscriber) -> SubscriberRule:
        """Returns the rule of a subscriber alone. Only its own ports are right."""
        return cls(address=subscriber.address, ports=SubscriberPorts.of(subscriber.ports))

    @classmethod
    def of_domain(cls, domain: MapDomain) -> SubscriberRule:
        """Returns the rule of all subscribers of MAP-T, or of the only one that is there."""
        rule = domain.rule
        return cls.of(rule) if domain.only is None else cls.of_one(rule.subscriber(domain.only))

    @classmethod
    def of(cls, rule: MapRule) -> SubscriberRule:
        """Returns a mapping rule as the engine computes it. The EA bits end at bit 64 of the address or before."""
        suffix_bits = 32 - rule.ipv4.prefixlen
        psid_shift = 64 - rule.ipv6.prefixlen - rule.ea_length
        return cls(
            address=rule.ipv6.network_address,
            address_mask=(1 << suffix_bits) - 1,
            address_shift=psid_shift + rule.psid_length,
            psid_mask=(1 << rule.psid_length) - 1,
            psid_drop=16 - rule.offset - rule.psid_length if rule.psid_length else 0,
            psid_shift=psid_shift,
            identifier=True,
            ports=SubscriberPorts(lowest=_lowest(rule.offset) if rule.psid_length else 0),
        )

    @classmethod
    def of_table(cls, table: SoftwireTable) -> SubscriberRule:
        """Returns the rule that numbers the ends of a table, as `SoftwireTable.numbered` has them."""
        return cls(
            address=IPv6Address(0),
            address_mask=(1 << table.address_bits) - 1,
            address_shift=table.psid_length,
            psid_mask=(1 << table.psid_length) - 1,
            psid_drop=16 - table.offset - table.psid_length if table.psid_length else 0,
            ports=SubscriberPorts(lowest=_lowest(table.offset) if table.psid_length else 0),
        )


TrafficClass = Annotated[int, Field(ge=0, le=255)]
FlowLabel = Annotated[int, Field(ge=0, le=0xF_FFFF)]


class SoftwireFormat(Message):
    """Describes the softwires of a stream: the address of the core's end, and the rule of the subscribers' ends.

    With `inner_address`, the packets of all subscribers have that address, as homes behind one AFTR have (RFC 6333). A
    subscriber's address in the stream's four-tuples then only gives its end of the softwire; the rule has no PSID and
    puts the address into the `identifier`, from which it is read on arrival.

    With a `table`, the bits that `subscribers` places in the first half of an address are instead the number of the
    subscriber's address in the table (lw4o6, RFC 7596); there is no `identifier` then.

    With `may_lack_checksum`, packets may arrive without a UDP checksum, as those that a NAT has changed may (RFC 768).

    The other fields are those of the outer header of frames that are sent.
    """

    core: IPv6Address
    subscribers: SubscriberRule
    inner_address: IPv4Address | None = None
    table: Annotated[list[IPv6Address], Field(min_length=1, max_length=MOST_IN_TABLE)] | None = None
    may_lack_checksum: bool = False
    hop_limit: Annotated[int, Field(ge=1, le=255)] = 64
    traffic_class: TrafficClass = 0
    flow_label: FlowLabel = 0

    @classmethod
    def of(cls, softwire: Softwire, subscribers: Bindings | None) -> SoftwireFormat:
        """Returns the addresses of both ends of softwires, of which one end is described; `subscribers` are those of
        several."""
        ends = [softwire.own, softwire.far]
        core, edge = ends if softwire.end == SoftwireEnd.CORE else ends[::-1]
        match subscribers:
            case SoftwireTable() as table:
                return cls(core=core, subscribers=SubscriberRule.of_table(table), table=table.numbered)
            case Homes() as homes:
                return cls(core=core, subscribers=SubscriberRule.of(homes.rule), inner_address=homes.inner)
        return cls(
            core=core, subscribers=SubscriberRule.of(subscribers) if subscribers else SubscriberRule(address=edge)
        )


class MappingFormat(Message):
    """Describes how the IPv4 addresses of a stream are mapped to IPv6 (RFC 7599 §5): those of subscribers by a rule,
    and those of far hosts behind a prefix (RFC 6052 §2.2).

    The stream's four-tuples are those of IPv4. The subscribers' addresses have an identifier, from which their IPv4
    addresses are read on arrival. The other fields are those of the IPv6 header of frames that are sent; its hop limit
    is the frames' `ttl`.
    """

    subscribers: SubscriberRule
    prefix: Annotated[IPv6Network, AfterValidator(embeds)]
    traffic_class: TrafficClass = 0
    flow_label: FlowLabel = 0


SequenceNumber = Annotated[int, Field(ge=0, le=2**32 - 1)]


class SegmentFormat(Message):
    """Says what the TCP header of a stream's segments has: the control bits by their initials, `SA` for SYN and ACK,
    and the sequence numbers of the sender and of the other side, counted from the first one of each. A SYN states the
    `largest` data in bytes that a segment to its sender may have (RFC 9293 §3.7.1)."""

    sender: Sender
    flags: Flags
    sequence: SequenceNumber
    acknowledged: SequenceNumber
    largest: Annotated[int, Field(ge=1, le=2**16 - 1)]


class FrameFormat(Message):
    """Describes the frames of a stream.

    `size` is in bytes on the wire, including the FCS. A list of sizes repeats, and frame n has size n of it. A `form`
    other than `udp` names the extension headers of IPv6 frames, of 8 bytes each, or says that an IPv4 packet is in an
    IPv6 packet, of which `softwire` has the addresses, or is translated to one, as `mapping` says. The forms `tcp`,
    with data, and `tcp-option` have a `segment` and one size. `arrival_form` is that on the other side, by default
    the same unless the family changes.
    """

    form: Form = Form.UDP
    arrival_form: Form | None = None
    softwire: SoftwireFormat | None = None
    mapping: MappingFormat | None = None
    segment: SegmentFormat | None = None
    size: Size | Annotated[list[Size], Field(min_length=1, max_length=MOST_FRAMES)]
    ttl: Annotated[int, Field(ge=1, le=255)] = 64
    dont_fragment: bool = False

    @property
    def sizes(self) -> list[int]:
        """The sizes in their order, which repeats."""
        return self.size if isinstance(self.size, list) else [self.size]

    @property
    def longest(self) -> int:
        return max(self.sizes)


class Queries(Message):
    """Makes a stream one of queries to a DNS64 server, for the AAAA records of names in `natxy.test`.

    Frame n is query n, over the stream's `flows`, which have one address, another one, and port 53 there; the source
    ports take turns. What arrives, on the port that sends, are the server's answers: an answer counts as received if it
    has the address that the name has, or that the `prefix` makes of it. The pair's other port is meanwhile the
    authority: it answers any query for these names.

    `cached_percent` of the queries are for one of 1009 names, which take turns; all others are for names that nobody
    has asked for. `aaaa_percent` of the names have an IPv6 address of their own, and all have an IPv4 address.
    """

    prefix: Annotated[IPv6Network, AfterValidator(embeds)]
    cached_percent: Annotated[int, Field(ge=0, le=100)] = 0
    aaaa_percent: Annotated[int, Field(ge=0, le=100)] = 0


class StreamKind(StrEnum):
    """The source of a stream's four-tuples.

    `flows`: the stream's `flows`. `connections`: the established connections, for phase 2 of the initiator. `replies`:
    the swapped four-tuples of the state table, for phase 2 of the responder (RFC 9693 §4.7).
    """

    FLOWS = "flows"
    CONNECTIONS = "connections"
    REPLIES = "replies"


class TaggedFrames(Message):
    """Frames whose delays are reported individually: number `first`, `first` + `stride`, … (RFC 8219 §7.2)."""

    first: Annotated[int, Field(ge=0, lt=2**48)]
    stride: Annotated[int, Field(ge=1, lt=2**48)]
    count: Annotated[int, Field(ge=1, le=1_000_000)]


class StreamSpec(Message):
    """The traffic of one direction: `frames` frames at `rate_fps`, sent by port `source` of a pair and expected on the
    pair's other port.

    Streams of `kind` `connections` and `replies` use the four-tuples of their pair's last phase 1, in `order`: those of
    the first `active_connections`, by default of all. A stream of `flows` needs the field `flows`. Its frames arrive in
    the family `arrives_as`, by default that of `flows`; a frame of the other family is `misrouted`. `burst` frames
    leave back to back, at the same average rate (RFC 2544 §21). The stream begins `start_s` after the trial's start
    and ends within 30 days.

    A stream fails if its last frame arrives more than `max_backlog_s` later than the fastest of its frames did: a queue
    that grows hides loss from short traffic. None, the default, allows any backlog.

    A frame that arrives more than `frame_timeout_s` after it was made counts as lost. None, the default, lets frames
    arrive until the end of the trial's drain.

    `interleaved_with` names an earlier stream of the same source, whose schedule and bursts this one shares. The frames
    of both alternate evenly, in an order that does not depend on pacing. Both streams begin and end together, and the
    ratio of their frames repeats after at most 1000 frames.

    A stream with `queries` has these as its frames, and their answers as what arrives. The delay of an answer counts
    from when its query was due.
    """

    name: str
    source: Side
    pair: Pair = 0
    role: StreamRole = StreamRole.FOREGROUND
    kind: StreamKind = StreamKind.FLOWS
    frame: FrameFormat
    rate_fps: Annotated[float, Field(ge=1e-3, le=1e10)]
    frames: Annotated[int, Field(ge=1, lt=2**48)]
    flows: FlowSpace | None = None
    interleaved_with: str | None = None
    arrives_as: Family | None = None
    selection: Selection = Selection.RANDOM
    order: Order = Order.PSEUDORANDOM
    active_connections: Annotated[int, Field(ge=1, lt=2**48)] | None = None
    max_loss_ratio: Annotated[float, Field(ge=0, le=0.999999999)] = 0.0
    max_backlog_s: Annotated[float, Field(ge=0, le=2_592_000)] | None = None
    frame_timeout_s: Annotated[float, Field(ge=1e-6, le=2_592_000)] | None = None
    start_s: Annotated[float, Field(ge=0, le=86400)] = 0.0
    burst: Annotated[int, Field(ge=1, le=65536)] = 1
    tagged: TaggedFrames | None = None
    ipdv: bool = False
    queries: Queries | None = None


class TrialLimits(Message):
    """Limits of the tester's own lateness, beyond which a trial is invalid.

    RFC 9693 has none; 0.001 % is the limit of siitperf and common practice. The last frame may leave
    `max_overrun_ratio` of the trial's planned duration late, or `overrun_floor_s` if that is longer. A pause of the
    tester's core longer than `max_pause_s` is followed by a burst; a trial is invalid if such bursts can explain its
    loss. It is also invalid if a link was down, unless `link_may_fall` allows this for a reset of the DUT and the link
    is up again at the end.
    """

    max_overrun_ratio: Annotated[float, Field(ge=0, le=10)] = 1e-5
    overrun_floor_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_pause_s: Annotated[float, Field(ge=1e-6, le=10)] = 0.001
    link_may_fall: bool = False


class TrialRequest(Message):
    """A trial of one or more streams.

    The engine waits `drain_s` for residual frames after the last frame (RFC 2544 §23: 2 s). With `drain_ends_early` the
    wait ends as soon as every frame of every stream has arrived; a duplicate that arrives later is a `stale` frame of
    the next trial. `delay_histogram` requests histograms of delays, of their variation and of the lateness of sending.

    With `ends_early: lost` the trial ends as soon as a stream has certainly lost more frames than it may: each of them
    was preceded by a later one at least `drain_s` ago. With `invalid` it ends once this loss has not grown for
    `drain_s`, if at least as many frames left in bursts after pauses of the tester's core. Frames that have left are
    then waited for, as at any end. A trial without `link_may_fall` always ends when a link goes down.

    The trial begins at `begin_at_ns` of the engine's clock, which `engine.clock` tells, at most 60 s ahead, and as soon
    as it can when that has passed or is None. The result's `began_ns` says when it did.

    If its first streams have the role `phase1`, the trial is phase 1 of RFC 9693 (§4.2): frame i of such a stream opens
    connection i, which the responder enters into the state table of the stream's pair, where it replaces those of
    before. Each of these streams has a pair of its own, and a `selection`: with `enumerate`, its flow space has at
    least as many flows as the stream has frames; with `random`, several frames may use one connection, of which each
    fills an entry. `list_ports` requests the source ports with which connections arrived.

    Behind the stream of phase 1 of their pair, streams of the kinds `connections` and `replies` use the connections
    that the trial itself makes, `start_s` later: in the order `increasing`, frame i is for connection i. A reply whose
    connection has not arrived when the reply is due is not sent, but counted as `absent` and lost.
    """

    streams: Annotated[list[StreamSpec], Field(min_length=1, max_length=8 * MOST_PAIRS)]
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    drain_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    drain_ends_early: bool = False
    ends_early: EarlyEnd = EarlyEnd.NEVER
    limits: TrialLimits = TrialLimits()
    delay_histogram: bool = False
    list_ports: bool = False
    begin_at_ns: Annotated[int, Field(ge=0, le=2**60)] | None = None

    @property
    def phase1(self) -> bool:
        """True if the trial makes connections."""
        return self.streams[0].role == StreamRole.PHASE1
