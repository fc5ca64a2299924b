# SPDX-License-Identifier: Apache-2.0
"""Messages that report a trial: verdict, counters, delays, and progress while it runs."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Literal

from pydantic import Field

from natxy.engine.messages.common import Message, Pair, Side, StreamRole
from natxy.untrusted.values import Real, Whole

PortNumber = Annotated[int, Field(ge=0, le=65535)]
TupleValue = PortNumber | IPv4Address | IPv6Address
"""The value of a field of a four-tuple: a port or an address."""


class Verdict(StrEnum):
    """The outcome of a trial. The engine never answers `disturbed`: natxy turns a `fail` into it if something else ran
    on the gateway's core for so long that its loss is explained."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    DISTURBED = "disturbed"


class Cause(StrEnum):
    """The reason of a verdict in one word, for programs.

    A trial with `loss` passes if the loss is within `max_loss_ratio`. One with `backlog` fails, although it may have
    lost nothing, because a stream's last frame was delayed by more than `max_backlog_s`.
    """

    LOSSLESS = "lossless"
    LOSS = "loss"
    BACK_PRESSURE = "back_pressure"
    LATE = "late"
    PAUSED = "paused"
    UNSENT = "unsent"
    TESTER_DROPS = "tester_drops"
    ABORTED = "aborted"
    LINK_DOWN = "link_down"
    BACKLOG = "backlog"
    SUSPENDED = "suspended"


class Pacing(Message):
    """The lateness of sending: actual minus due time of each burst's oldest frame, weighted by the burst's frames."""

    median_ns: Whole
    p99_ns: Whole
    p999_ns: Whole
    max_ns: Whole
    overrun_ns: Whole = Field(description="lateness of the last frame")
    max_pause_ns: Whole = Field(description="longest time in which the sender's core did not serve this stream")
    paused_ns: Whole = Field(default=0, description="sum of all pauses longer than `max_pause_s`")
    pauses_ns: Whole = Field(default=0, description="sum of all pauses longer than 1 ms")
    refused: Whole = Field(description="bursts that the port did not accept completely")
    blocked_ns: Whole = Field(
        default=0, description="time in which frames waited for the port, since the sender was last on schedule"
    )
    histogram: list[tuple[Whole, Whole]] | None = Field(default=None, description="(upper bound in ns, frames)")


class DelaySummary(Message):
    """The one-way delay of distinct frames, from send time stamp to reception (RFC 1242 §3.8, store and forward)."""

    count: Whole
    min_ns: Whole
    max_ns: Whole
    mean_ns: Real
    median_ns: Whole
    p1_ns: Whole
    p99_ns: Whole
    p999_ns: Whole
    histogram: list[tuple[Whole, Whole]] | None = Field(default=None, description="(upper bound in ns, frames)")


class DelayVariation(Message):
    """The inter-packet delay variation D(i) − D(i−1), signed and in sending order (RFC 5481 §4.1, RFC 8219 §7.3.2).

    A pair counts if both frames arrived.
    """

    pairs: Whole
    min_ns: Whole
    p1_ns: Whole
    median_ns: Whole
    p99_ns: Whole
    max_ns: Whole
    histogram: list[tuple[Whole, Whole]] | None = Field(default=None, description="(bound in ns, pairs)")


class LostFrame(Message):
    """A lost frame, which was due `due_s` after the trial's start."""

    sequence: Whole
    due_s: Real


class ArrivedFrame(Message):
    """A frame that arrived, which was due `due_s` after the trial's start."""

    sequence: Whole
    due_s: Real


class LostBurst(Message):
    """A part of a stream that begins and ends with a lost frame: `lost` of its `frames` frames.

    The first frame was due `due_s` after the trial's start. Lost frames belong to the same burst if they are less than
    1 ms apart, or beside each other.
    """

    sequence: Whole
    due_s: Real
    frames: Whole
    lost: Whole


class FieldLosses(Message):
    """Describes how a stream's frames, and the lost ones of them, are spread over the values of one field of their
    four-tuples, or over their sizes in bytes.

    `sent` and `lost` count the frames that were looked at, up to 65,536 and 262,144, in up to 64 equal parts of the
    values from `lowest` to `highest`.
    """

    field: Literal["source_address", "destination_address", "source_port", "destination_port", "frame_size"]
    lowest: TupleValue
    highest: TupleValue
    lost_lowest: TupleValue
    lost_highest: TupleValue
    sent: list[Whole]
    lost: list[Whole]


class LostFlows(Message):
    """Describes which flows of a stream lost frames, in four-tuples as they are sent; for connections, and replies to
    them, in the initiator's.

    `fields` has those with several values. `marks` are up to 32 of the smallest hashes of the lost frames' four-tuples,
    in order: trials that lost the same flows have the same marks. They are null for more than 262,144 lost frames. Of a
    stream that lost some frames more than 16,777,216 before its end, only the frames since then are described.
    """

    fields: list[FieldLosses]
    marks: list[Whole] | None = None


class Silence(Message):
    """The time between two successive arrivals; `start_s` counts from the trial's start."""

    start_s: Real
    duration_s: Real


class QueryResult(Message):
    """Counts the answers to a stream's queries that were not right, by what is wrong, and what the tester's other
    port was asked as the authority. `authority_unsent` are answers that the port did not send."""

    malformed: Whole
    wrong_question: Whole
    truncated: Whole
    server_failure: Whole = Field(description="answers with the code SERVFAIL")
    other_error: Whole = Field(description="answers with another code than NOERROR")
    no_address: Whole = Field(description="answers without an AAAA record")
    wrong_address: Whole = Field(description="answers with an address that the name does not have")
    authority_a: Whole
    authority_aaaa: Whole
    authority_other: Whole
    authority_malformed: Whole
    authority_unsent: Whole

    @property
    def asked(self) -> int:
        """The queries that the authority was asked."""
        return self.authority_a + self.authority_aaaa + self.authority_other


class StreamResult(Message):
    """The counters of one stream.

    `planned` are the frames of the request, or those sent if the trial ended early. `absent` frames were not sent,
    because the connections that they reply to had not arrived. `received` counts distinct frames;
    `lost` is planned − received. `timed_out` distinct frames arrived after the
    stream's `frame_timeout_s`: they count as lost, but their delays are known, and they are neither `first_lost` nor
    `last_lost`. `corrupt` frames have the tester's signature and a wrong checksum or length. `misrouted` frames arrived
    on the wrong port, or with a four-tuple that this stream never sent. Late frames of earlier trials are counted in
    the trial's `stale`.
    """

    name: str
    source: Side
    pair: Pair = 0
    role: StreamRole
    planned: Whole
    sent: Whole
    absent: Whole = 0
    unsent: Whole
    received: Whole
    lost: Whole
    timed_out: Whole = 0
    duplicate: Whole
    reordered: Whole | None = Field(
        description="null when a port that the stream leaves or reaches has several queues, which keep no common order"
    )
    corrupt: Whole
    misrouted: Whole
    beyond_window: Whole
    intended_rate_fps: Real
    offered_rate_fps: Real
    pacing: Pacing
    backlog_ns: Whole = Field(default=0, description="delay of the frame that arrived last, less that of the fastest")
    delay: DelaySummary | None
    ipdv: DelayVariation | None = None
    tagged_delays_ns: list[Whole | None] | None = Field(default=None, description="in sending order; null if lost")
    first_arrived: ArrivedFrame | None = Field(default=None, description="the frame that arrived before all others")
    last_arrived: ArrivedFrame | None = Field(default=None, description="the last one of those that arrived")
    first_lost: LostFrame | None = None
    last_lost: LostFrame | None = None
    lost_bursts: list[LostBurst] = Field(
        default=[], description="the first 64 of those less than 16,777,216 frames before the end"
    )
    lost_stride: Whole | None = Field(
        default=None,
        description="every how many frames one was lost; null unless six or more were, always at this distance",
    )
    lost_flows: LostFlows | None = Field(
        default=None, description="null unless the trial failed, and for a stream whose lost frames are unknown or none"
    )
    near_pauses: Whole = Field(
        default=0, description="frames that were due when a pause longer than `max_pause_s` may have harmed them"
    )
    lost_near_pauses: Whole = Field(default=0, description="those of them that were lost, or of which this is unknown")
    longest_silence: Silence | None = Field(default=None, description="known when one core receives the stream")
    queries: QueryResult | None = Field(default=None, description="null for a stream without `queries`")
    sent_per_second: list[Whole]
    received_per_second: list[Whole]


class PortResult(Message):
    """The counters of one port.

    `missed`, `no_buffer` and `kernel_drops` are frames that the tester lost on reception. `rejected` frames were
    accepted by the tester's kernel, which then refused to send them.
    """

    side: Side
    pair: Pair = 0
    missed: Whole
    no_buffer: Whole
    kernel_drops: Whole
    rejected: Whole = 0
    foreign: dict[str, Whole]
    received_by_queue: list[Whole] = Field(
        default=[], description="frames of any kind, by the port's queue: how evenly the port spreads them"
    )


class ForeignSample(Message):
    side: Side
    pair: Pair = 0
    kind: str
    time_ns: Whole
    data_base64: str


class CoreSpeed(Message):
    """The speed of a core during the traffic: how often it could have executed a fixed piece of work in a second.

    `mean_hz` is the average of `samples` measurements, `fastest_hz` the highest. A core is slower than at other times
    when its clock is, or when the other hardware thread of the same physical core is busy.
    """

    core: Whole
    samples: Whole
    mean_hz: Real
    fastest_hz: Real


class PortUse(Message):
    """Says that each port from `first` to `last` is the source of so many connections."""

    first: PortNumber
    last: PortNumber
    connections: Whole


class SourceSpread(Message):
    """Describes how the connections of phase 1 are spread over the source addresses with which they arrived.

    Behind a gateway that hides the left side's addresses these are its public ones. `fewest` and `most` are connections
    of one address. `connections` were looked at: all, or of more than 4,194,304 a part of that size, in equal steps.
    `lowest` and `highest` are the ends of the addresses, `lowest_port` and `highest_port` those of their ports.
    `endpoints` are pairs of address and port: fewer than connections if the gateway uses a port again for another
    destination; None for more than 1,024 addresses. `ports` lists the ports of all addresses if the request asks for
    them, those beside each other that have as many connections as one entry.
    """

    connections: Whole
    addresses: Whole
    fewest: Whole
    most: Whole
    lowest: IPv4Address | IPv6Address | None = None
    highest: IPv4Address | IPv6Address | None = None
    endpoints: Whole | None = None
    lowest_port: PortNumber | None = None
    highest_port: PortNumber | None = None
    ports: list[PortUse] | None = None


class TrialResult(Message):
    run_id: Whole
    verdict: Verdict
    cause: Cause
    reason: str
    duration_s: Real
    ended_early: bool = Field(
        default=False, description="before all frames were sent, because the trial could not pass any more"
    )
    began_ns: Whole | None = Field(
        default=None, description="the trial's start on the engine's clock; null if the request has no `begin_at_ns`"
    )
    streams: list[StreamResult]
    spoofed: list[StreamResult] = Field(
        default=[], description="the streams of this role, whose frames had to be dropped"
    )
    ports: list[PortResult]
    stale: Whole
    established: Whole | None = Field(default=None, description="connections in the state table (phase 1 only)")
    sources: SourceSpread | None = Field(
        default=None, description="null without connections, or with more than 65,536 addresses (phase 1 only)"
    )
    samples: list[ForeignSample] = Field(default=[])
    dut_cores: list[CoreSpeed] = Field(default=[])


class Progress(Message):
    """The progress of a trial, five times per second. Counters are approximate until the trial has drained."""

    elapsed_s: Real
    planned: Whole
    sent: Whole
    received: Whole
