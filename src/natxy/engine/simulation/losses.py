# SPDX-License-Identifier: Apache-2.0
"""Which frames a simulated gateway loses, and when.

It is a fluid: what comes in faster than it is forwarded fills the buffer, and once that is full the excess is lost,
evenly spread to the end. During an outage everything is lost, and nothing is buffered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import LostFrame, Silence


@dataclass(frozen=True)
class Outage:
    """In seconds after the trial's start."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Carried:
    """The `share` of the frames that gets through, and the part of them that was offered before the first was lost."""

    share: float
    lossless_part: float = 0.0


EVERYTHING = Carried(1.0, 1.0)
NOTHING = Carried(0.0)


def carried(streams: Sequence[StreamSpec], forwarded: float, buffer_frames: int) -> Carried:
    """Of streams that are sent side by side, of whose frames the gateway could forward the share `forwarded` (up to
    1) while they come in."""
    frames = sum(stream.frames for stream in streams)
    # Of streams that take turns the bursts are of both together, as the first has them.
    bursts = [stream.burst for stream in streams if not stream.interleaved_with]
    if (burst := sum(bursts)) > len(bursts):
        return _carried_bursts(frames, burst, forwarded, max(1, buffer_frames))
    excess = frames * (1 - forwarded)
    if excess <= buffer_frames:
        return EVERYTHING
    return Carried(forwarded + buffer_frames / frames, buffer_frames / excess)


def _carried_bursts(frames: int, burst: int, forwarded: float, buffer_frames: int) -> Carried:
    """A burst comes in at once; until the next one the buffer is emptied."""
    emptied = min(burst * forwarded, buffer_frames)
    kept = (frames / burst - 1) * emptied + buffer_frames
    if kept >= frames:
        return EVERYTHING
    if burst > buffer_frames:
        return Carried(kept / frames, buffer_frames / frames)
    return Carried(kept / frames, (buffer_frames - emptied) / (burst - emptied) * burst / frames)


@dataclass(frozen=True)
class StreamLosses:
    received: int
    first: LostFrame | None
    last: LostFrame | None
    silence: Silence | None
    """The longest outage, from the last frame before it to the first after it; None without one."""
    unheard: tuple[range, ...] = ()
    """The frames of the outages, in order."""


def lose(stream: StreamSpec, through: Carried, ratio: float, outages: Iterable[Outage]) -> StreamLosses:
    """`ratio` of what gets through is lost besides, evenly spread over the stream."""
    unheard = _merged(during(stream, outage) for outage in outages)
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
    return StreamLosses(received, _lost(stream, first), _lost(stream, last), silence, tuple(unheard))


def during(stream: StreamSpec, outage: Outage) -> range:
    """The frames that are sent during an outage."""

    def first_from(time_s: float) -> int:
        bursts = (time_s - stream.start_s) * stream.rate_fps / stream.burst
        # A frame that is due at the very moment counts as due after it, whatever floating point makes of it.
        return min(max(0, math.ceil(bursts - 1e-6) * stream.burst), stream.frames)

    return range(first_from(outage.start_s), first_from(outage.end_s))


def _merged(ranges: Iterable[range]) -> list[range]:
    """In order, those that touch as one."""
    merged: list[range] = []
    for one in sorted((one for one in ranges if one), key=lambda one: one.start):
        if merged and one.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, one.stop))
        else:
            merged.append(one)
    return merged


def _silence(stream: StreamSpec, unheard: Sequence[range]) -> Silence | None:
    between = [one for one in unheard if one.start > 0 and one.stop < stream.frames]
    if not between:
        return None
    longest = max(between, key=len)
    start_s = _due_s(stream, longest.start - 1)
    return Silence(start_s=start_s, duration_s=_due_s(stream, longest.stop) - start_s)


def _lost(stream: StreamSpec, sequence: int) -> LostFrame:
    return LostFrame(sequence=sequence, due_s=_due_s(stream, sequence))


def _due_s(stream: StreamSpec, sequence: int) -> float:
    return stream.start_s + sequence // stream.burst * stream.burst / stream.rate_fps
