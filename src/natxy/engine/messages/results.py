# SPDX-License-Identifier: Apache-2.0
"""Messages that report a trial: counters, delays, verdict, and progress while it runs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from natxy.engine.messages.common import Message, Side


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
    samples: list[ForeignSample] = Field(default=[])


class Progress(Message):
    """Five times a second while a trial runs; counters are approximate until the trial has drained."""

    elapsed_s: float
    planned: int
    sent: int
    received: int
