# SPDX-License-Identifier: Apache-2.0
"""The delays of a simulated gateway, which differ from frame to frame and have known percentiles.

Frame i has delay number i · 617 mod 1009 of 1009 evenly spaced ones: any 1009 successive frames have each delay once,
and so have 1009 tagged frames whose stride is not a multiple of 1009.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from operator import mul
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
        tally = _Tally(_delays(self), frames)
        return DelaySummary(
            count=frames,
            min_ns=tally.at(1),
            max_ns=tally.at(frames),
            mean_ns=tally.sum / frames,
            median_ns=tally.percentile(500),
            p1_ns=tally.percentile(10),
            p99_ns=tally.percentile(990),
            p999_ns=tally.percentile(999),
            histogram=tally.histogram() if histogram else None,
        )

    def longer_than(self, limit_ns: int, frames: int) -> int:
        """Returns how many of the first `frames` frames have a longer delay."""
        return sum(occurrences for ns, occurrences in _Tally(_delays(self), frames).histogram() if ns > limit_ns)

    def variation(self, frames: int, *, histogram: bool) -> DelayVariation | None:
        """Returns the delay variation between successive frames of the first `frames`."""
        if frames < 2:
            return None
        pairs = frames - 1
        tally = _Tally(_variations(self), pairs)
        return DelayVariation(
            pairs=pairs,
            min_ns=tally.at(1),
            p1_ns=tally.percentile(10),
            median_ns=tally.percentile(500),
            p99_ns=tally.percentile(990),
            max_ns=tally.at(pairs),
            histogram=tally.histogram() if histogram else None,
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


@cache
def _delays(delays: SimulatedDelays) -> list[tuple[int, int]]:
    """Returns the delays of a period in order, each with the number of its frame."""
    return sorted((delays.of(number), number) for number in range(PERIOD))


@cache
def _variations(delays: SimulatedDelays) -> list[tuple[int, int]]:
    """Returns the delay variations of a period in order, each with the number of the earlier of its frames."""
    return sorted((delays.of(number + 1) - delays.of(number), number) for number in range(PERIOD))


class _Tally:
    """Counts how often the values of a `period`, which are in order, occur among the first `count` ones."""

    def __init__(self, period: Sequence[tuple[int, int]], count: int) -> None:
        whole, rest = divmod(count, PERIOD)
        self._count = count
        self._values = [value for value, _ in period]
        self._occurrences = [whole + (number < rest) for _, number in period]
        self._upto = [*accumulate(self._occurrences)]

    @property
    def sum(self) -> int:
        return sum(map(mul, self._values, self._occurrences))

    def at(self, place: int) -> int:
        """Returns the value at a place in their order, from 1 on."""
        return self._values[bisect_left(self._upto, place)]

    def percentile(self, permille: int) -> int:
        """Returns the smallest value that `permille` of the frames do not exceed (RFC 2330 §11.3)."""
        return self.at(-(-permille * self._count // 1000))

    def histogram(self) -> list[tuple[int, int]]:
        """Returns the values in order, each with the number of its occurrences."""
        found = Counter[int]()
        for value, occurrences in zip(self._values, self._occurrences, strict=True):
            if occurrences:
                found[value] += occurrences
        return [*found.items()]
