# SPDX-License-Identifier: Apache-2.0
"""The delays of a simulated gateway, which differ from frame to frame and have known percentiles.

Frame i has delay number i · 617 mod 1009 of 1009 evenly spaced ones: any 1009 successive frames have each delay once,
and so have 1009 tagged frames whose stride is not a multiple of 1009.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from natxy.engine.messages.requests import TaggedFrames
from natxy.engine.messages.results import DelaySummary, DelayVariation

PERIOD: Final = 1009
_STEP: Final = 617


@dataclass(frozen=True)
class SimulatedDelays:
    """Delays from `min_ns` to `min_ns` + `spread_ns`."""

    min_ns: int
    spread_ns: int

    def of(self, frame: int) -> int:
        """Returns the delay of a frame in ns."""
        return self.min_ns + self.spread_ns * (frame * _STEP % PERIOD) // (PERIOD - 1)

    def summary(self, frames: int, *, histogram: bool) -> DelaySummary | None:
        """Returns the exact summary of the first `frames` frames; a histogram has one bucket for each delay."""
        if not frames:
            return None
        tally = _tally(self.of, 0, frames)
        return DelaySummary(
            count=frames,
            min_ns=tally[0][0],
            max_ns=tally[-1][0],
            mean_ns=sum(ns * occurrences for ns, occurrences in tally) / frames,
            median_ns=_percentile(tally, frames, 500),
            p1_ns=_percentile(tally, frames, 10),
            p99_ns=_percentile(tally, frames, 990),
            p999_ns=_percentile(tally, frames, 999),
            histogram=tally if histogram else None,
        )

    def longer_than(self, limit_ns: int, frames: int) -> int:
        """Returns how many of the first `frames` frames have a longer delay."""
        return sum(occurrences for ns, occurrences in _tally(self.of, 0, frames) if ns > limit_ns)

    def variation(self, frames: int, *, histogram: bool) -> DelayVariation | None:
        """Returns the delay variation between successive frames of the first `frames`."""
        if frames < 2:
            return None
        pairs = frames - 1
        tally = _tally(lambda frame: self.of(frame) - self.of(frame - 1), 1, pairs)
        return DelayVariation(
            pairs=pairs,
            min_ns=tally[0][0],
            p1_ns=_percentile(tally, pairs, 10),
            median_ns=_percentile(tally, pairs, 500),
            p99_ns=_percentile(tally, pairs, 990),
            max_ns=tally[-1][0],
            histogram=tally if histogram else None,
        )

    def tagged(self, wanted: TaggedFrames, frames: int, received: int) -> list[int | None]:
        """Returns the delays of tagged frames; None for lost frames, which are evenly spread over the stream."""
        lost, step = frames - received, _spreading_step(frames)
        sequences = (wanted.first + number * wanted.stride for number in range(wanted.count))
        return [self.of(frame) if frame < frames and frame * step % frames >= lost else None for frame in sequences]


def _spreading_step(frames: int) -> int:
    """Returns a step by which i · step mod `frames` takes every value once, neighbours far apart (golden section)."""
    step = max(1, round(frames * 0.618034))
    while math.gcd(step, frames) > 1:
        step += 1
    return step


def _tally(value_of: Callable[[int], int], first: int, count: int) -> list[tuple[int, int]]:
    """Returns the sorted values of `count` frames from `first` on, each with its number of occurrences."""
    whole, rest = divmod(count, PERIOD)
    occurrences: dict[int, int] = {}
    for number in range(min(count, PERIOD)):
        value = value_of(first + number)
        occurrences[value] = occurrences.get(value, 0) + whole + (number < rest)
    return sorted(occurrences.items())


def _percentile(tally: list[tuple[int, int]], count: int, permille: int) -> int:
    """Returns the smallest value that `permille` of the frames do not exceed (RFC 2330 §11.3)."""
    seen = 0
    for value, occurrences in tally:
        seen += occurrences
        if 1000 * seen >= permille * count:
            return value
    return tally[-1][0]
