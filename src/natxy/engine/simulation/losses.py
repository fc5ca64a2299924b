# SPDX-License-Identifier: Apache-2.0
"""The losses of a simulated gateway, by number and by time.

Traffic is modelled as a fluid. What arrives faster than it is forwarded fills the buffer; once that is full, the excess
is lost, evenly spread to the stream's end. During an outage everything is lost, and nothing is buffered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import ArrivedFrame, LostBurst, LostFrame, Silence


@dataclass(frozen=True)
class Outage:
    """A time in which the gateway forwards nothing, in seconds after the trial's start."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Carried:
    """The `share` of the frames that pass, the part of a stream before its first loss, and the delay of the last frame
    by the buffer."""

    share: float
    lossless_part: float = 0.0
    backlog_s: float = 0.0


EVERYTHING = Carried(1.0, 1.0)
NOTHING = Carried(0.0)


def carried(streams: Sequence[StreamSpec], forwarded: float, buffer_frames: int) -> Carried:
    """Returns what passes of streams that are sent together.

    `forwarded` is the share of their frames, at most 1, that the gateway can forward while they arrive.
    """
    frames = sum(stream.frames for stream in streams)
    # Interleaved streams share the bursts of the first one.
    bursts = [stream.burst for stream in streams if not stream.interleaved_with]
    if (burst := sum(bursts)) > len(bursts):
        return _carried_bursts(frames, burst, forwarded, max(1, buffer_frames))
    excess = frames * (1 - forwarded)
    backlog_s = min(excess, buffer_frames) / (forwarded * sum(stream.rate_fps for stream in streams))
    if excess <= buffer_frames:
        return Carried(1.0, 1.0, backlog_s)
    return Carried(forwarded + buffer_frames / frames, buffer_frames / excess, backlog_s)


def _carried_bursts(frames: int, burst: int, forwarded: float, buffer_frames: int) -> Carried:
    """Returns what passes of bursts, each of which arrives at once and leaves the buffer until the next one."""
    emptied = min(burst * forwarded, buffer_frames)
    kept = (frames / burst - 1) * emptied + buffer_frames
    if kept >= frames:
        return EVERYTHING
    if burst > buffer_frames:
        return Carried(kept / frames, buffer_frames / frames)
    return Carried(kept / frames, (buffer_frames - emptied) / (burst - emptied) * burst / frames)


@dataclass(frozen=True)
class StreamLosses:
    """The losses of one stream."""

    received: int
    first: LostFrame | None
    last: LostFrame | None
    silence: Silence | None
    """The longest outage, from the last frame before it to the first after it; None without an outage."""
    unheard: tuple[range, ...] = ()
    """The frames sent during outages, in order."""


def lose(stream: StreamSpec, through: Carried, ratio: float, outages: Iterable[Outage]) -> StreamLosses:
    """Returns the losses of a stream. Of the frames that pass, `ratio` is lost too, evenly spread over the stream."""
    unheard = merged(during(stream, outage) for outage in outages)
    heard = stream.frames - sum(map(len, unheard))
    received = int(heard * through.share)
    if ratio:
        received = int(received * (1 - ratio))
    if received == stream.frames:
        return StreamLosses(received, None, None, None)
    first, last = stream.frames, 0
    if unheard:
        first, last = unheard[0][0], unheard[-1][-1]
    if received < heard:
        spread_from = 0 if ratio else int(stream.frames * through.lossless_part)
        first, last = min(first, spread_from), stream.frames - 1
    silence = _silence(stream, unheard)
    return StreamLosses(received, lost_frame(stream, first), lost_frame(stream, last), silence, tuple(unheard))


def during(stream: StreamSpec, outage: Outage) -> range:
    """Returns the frames that are sent during an outage."""
    return range(_first_from(stream, outage.start_s), _first_from(stream, outage.end_s))


def _first_from(stream: StreamSpec, time_s: float) -> int:
    """Returns the first frame that is due at a time or later."""
    bursts = (time_s - stream.start_s) * stream.rate_fps / stream.burst
    # A frame due at this very moment counts as due after it, despite floating-point errors.
    return min(max(0, math.ceil(bursts - 1e-6) * stream.burst), stream.frames)


def merged(ranges: Iterable[range]) -> list[range]:
    """Returns the ranges in order, with adjacent ones merged."""
    merged: list[range] = []
    for one in sorted((one for one in ranges if one), key=lambda one: one.start):
        if merged and one.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, one.stop))
        else:
            merged.append(one)
    return merged


def end_s(stream: StreamSpec) -> float:
    """Returns the end of a stream in seconds after the trial's start."""
    return stream.start_s + stream.frames / stream.rate_fps


def arrivals(stream: StreamSpec, losses: StreamLosses) -> dict[str, object]:
    """Returns the first and the last frame that arrived, and the bursts of lost frames during outages, as fields of a
    stream's result."""
    unheard = losses.unheard
    if not losses.received:
        return {}
    first = unheard[0].stop if unheard and unheard[0].start == 0 else 0
    last = unheard[-1].start if unheard and unheard[-1].stop == stream.frames else stream.frames
    bursts = [
        LostBurst(sequence=one.start, due_s=_due_s(stream, one.start), frames=len(one), lost=len(one))
        for one in unheard
    ]
    ends = {
        name: ArrivedFrame(sequence=sequence, due_s=_due_s(stream, sequence))
        for name, sequence in (("first_arrived", first), ("last_arrived", last - 1))
    }
    return {"lost_bursts": bursts, **ends}


def _silence(stream: StreamSpec, unheard: Sequence[range]) -> Silence | None:
    between = [one for one in unheard if one.start > 0 and one.stop < stream.frames]
    if not between:
        return None
    longest = max(between, key=len)
    start_s = _due_s(stream, longest.start - 1)
    return Silence(start_s=start_s, duration_s=_due_s(stream, longest.stop) - start_s)


def lost_frame(stream: StreamSpec, sequence: int) -> LostFrame:
    return LostFrame(sequence=sequence, due_s=_due_s(stream, sequence))


def _due_s(stream: StreamSpec, sequence: int) -> float:
    return stream.start_s + sequence // stream.burst * stream.burst / stream.rate_fps


def sent_per_second(stream: StreamSpec) -> list[int]:
    """Returns the number of frames sent in each second of the trial."""
    return [len(second) for second in _seconds(stream)]


def received_per_second(stream: StreamSpec, received: int, unheard: Sequence[range] = ()) -> list[int]:
    """Returns the number of frames received in each second of the trial.

    The disjoint ranges of `unheard` are lost; other losses are spread evenly.
    """
    heard = [len(second) - sum(_shared(second, gap) for gap in unheard) for second in _seconds(stream)]
    total, before = sum(heard), 0
    counts = []
    for frames in heard:
        after = before + frames
        counts.append(received * after // total - received * before // total if total else 0)
        before = after
    return counts


def _seconds(stream: StreamSpec) -> list[range]:
    """Returns the frames that are due in each second."""
    firsts = (_first_from(stream, second) for second in range(math.ceil(end_s(stream)) + 1))
    return [range(first, next_first) for first, next_first in pairwise(firsts)]


def _shared(one: range, other: range) -> int:
    return max(0, min(one.stop, other.stop) - max(one.start, other.start))
