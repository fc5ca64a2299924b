# SPDX-License-Identifier: Apache-2.0
"""The delays of a simulated gateway: different from frame to frame, and all their percentiles known.

Frame i takes place i · 617 mod 1009 of as many delays, evenly spaced: any 1009 frames in a row have each of them once,
and so have any 1009 tagged ones whose stride is no multiple of 1009.
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
    """From `min_ns` to `min_ns` + `spread_ns`."""

    min_ns: int
    spread_ns: int

    def of(self, frame: int) -> int:
        """In ns."""
        return self.min_ns + self.spread_ns * (frame * _STEP % PERIOD) // (PERIOD - 1)

    def summary(self, frames: int, *, histogram: bool) -> DelaySummary | None:
        """Of frames 0, 1, …; exact, with a histogram bucket for every delay."""
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

    def variation(self, frames: int) -> DelayVariation | None:
        """Of frames 0, 1, …, each but the first against the one before."""
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
        )

    def tagged(self, wanted: TaggedFrames, frames: int, received: int) -> list[int | None]:
        """The frames that were lost are spread evenly over the stream; no delay where there is no such frame."""
        lost, step = frames - received, _spreading_step(frames)
        sequences = (wanted.first + number * wanted.stride for number in range(wanted.count))
        return [self.of(frame) if frame < frames and frame * step % frames >= lost else None for frame in sequences]


def _spreading_step(frames: int) -> int:
    """i · step mod `frames` takes every value once, neighbours far apart: the golden section's share of the frames."""
    step = max(1, round(frames * 0.618034))
    while math.gcd(step, frames) > 1:
        step += 1
    return step


def _tally(value_of: Callable[[int], int], first: int, count: int) -> list[tuple[int, int]]:
    """The values of `count` frames from `first` on, in order, with how often each occurs."""
    whole, rest = divmod(count, PERIOD)
    occurrences: dict[int, int] = {}
    for number in range(min(count, PERIOD)):
        value = value_of(first + number)
        occurrences[value] = occurrences.get(value, 0) + whole + (number < rest)
    return sorted(occurrences.items())


def _percentile(tally: list[tuple[int, int]], count: int, permille: int) -> int:
    """The smallest value that `permille` of the frames don't exceed (RFC 2330 §11.3)."""
    seen = 0
    for value, occurrences in tally:
        seen += occurrences
        if 1000 * seen >= permille * count:
            return value
    return tally[-1][0]
