# SPDX-License-Identifier: Apache-2.0
"""Tells what arrived of a stream, and what was lost, around a moment of its trial. Frames count by the time at which
they were due, and times are in seconds since the trial's start or, where they are results, since the moment."""

from __future__ import annotations

import math
from typing import Final

from natxy.engine.messages.results import StreamResult

LAST_SHARE: Final = 0.01
"""A share at the end of the traffic, within which what happens may go on after it."""

# The engine knows which of so many frames were lost, and the first of so many bursts of losses.
_KNOWN_FRAMES: Final = 1 << 24
_KNOWN_BURSTS: Final = 64
# A frame due so long before a moment may come to the gateway after it, because the tester has sent it late.
_ON_ITS_WAY_S: Final = 0.02


def to_the_end(stream: StreamResult, sequence: int) -> bool:
    """Returns True if a frame is one of the last, so that what happened to it may have gone on."""
    return sequence >= stream.planned * (1 - LAST_SHARE) - 1


def knows_losses(stream: StreamResult, moment_s: float) -> bool:
    """Returns False if more was lost before the moment, or sent in the trial, than the engine keeps apart."""
    bursts = stream.lost_bursts
    is_full = len(bursts) >= _KNOWN_BURSTS and bursts[-1].sequence < _due_before(stream, moment_s)
    return stream.planned <= _KNOWN_FRAMES and not is_full


def passed_from(stream: StreamResult, moment_s: float) -> float | None:
    """Returns how many frames arrived that were due at the moment or later, at least; None if this is not known.

    Frames less than a millisecond apart are lost in one burst, which may go on at the moment. Of such a burst, as many
    frames as can be were lost after the moment, so that the count accuses no gateway falsely.
    """
    if not knows_losses(stream, moment_s):
        return None
    due = _due_before(stream, moment_s)
    lost = sum(
        max(0, burst.lost - max(0, burst.sequence + burst.frames - due))
        for burst in stream.lost_bursts
        if burst.sequence < due
    )
    return float(max(0, stream.received - (due - lost)))


def lost_from(stream: StreamResult, moment_s: float) -> float | None:
    """Returns how many frames were lost that were due at the moment or later, at least; None if this is not known.

    Of a burst that goes on at the moment, as many frames as can be were lost before it.
    """
    if not knows_losses(stream, moment_s):
        return None
    due = _due_before(stream, moment_s)
    before = sum(min(burst.lost, due - burst.sequence) for burst in stream.lost_bursts if burst.sequence < due)
    return float(max(0, stream.lost - before))


def last_arrived_s(stream: StreamResult, moment_s: float) -> float | None:
    """Returns when the last frame that arrived was due; None if frames arrive to the end."""
    last = stream.last_arrived
    if last is None:
        return 0.0
    return None if to_the_end(stream, last.sequence) else max(0.0, last.due_s - moment_s)


def last_lost_s(stream: StreamResult, moment_s: float) -> float | None:
    """Returns when the last frame that was lost was due; None if frames are lost to the end."""
    last = stream.last_lost
    if last is None:
        return 0.0
    return None if to_the_end(stream, last.sequence) else max(0.0, last.due_s - moment_s)


def first_arrived_s(stream: StreamResult, moment_s: float) -> float | None:
    """Returns when the first frame was due that arrived after all had been lost; None if frames arrived at the moment,
    or if none came after it."""
    first = stream.first_arrived
    if first is None:
        return None
    if first.due_s >= moment_s - _ON_ITS_WAY_S:
        return max(0.0, first.due_s - moment_s)
    end = _end_of_losses(stream, moment_s)
    if end is None or end >= stream.planned:
        return None
    return max(0.0, end / stream.intended_rate_fps - moment_s)


def passed_at(stream: StreamResult, moment_s: float) -> bool:
    """Returns True if frames arrived that were due shortly before the moment."""
    first = stream.first_arrived
    return first is not None and first.due_s < moment_s - _ON_ITS_WAY_S and _end_of_losses(stream, moment_s) is None


def _end_of_losses(stream: StreamResult, moment_s: float) -> int | None:
    """Returns the frame after those that were lost around the moment; None if none were lost shortly before it."""
    before = _due_before(stream, moment_s - _ON_ITS_WAY_S)
    ends = (burst.sequence + burst.frames for burst in stream.lost_bursts if burst.sequence < before)
    return next((end for end in ends if end >= before), None)


def _due_before(stream: StreamResult, moment_s: float) -> int:
    """Returns how many frames were due before the moment, despite floating-point errors."""
    return min(stream.planned, max(0, math.ceil(moment_s * stream.intended_rate_fps - 1e-6)))
