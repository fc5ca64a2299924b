# SPDX-License-Identifier: Apache-2.0
"""Calculates siitperf's figures from delays, in milliseconds: typical and worst-case latency, and packet delay
variation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.api.engine import StreamResult

_NS: Final = 1e6
_HIGH_RANK: Final = 0.999


def latency(tagged_ns: Sequence[int | None], lost_ms: float) -> tuple[float, float]:
    """Returns the median, and the delay of rank ⌈0.999·count⌉; a lost frame has the delay `lost_ms`."""
    delays = sorted(lost_ms if each is None else each / _NS for each in tagged_ns)
    return statistics.median(delays), delays[math.ceil(_HIGH_RANK * len(delays)) - 1]


@dataclass(frozen=True)
class Variation:
    """Holds the delay of rank ⌈0.999·count⌉ over all frames, lost ones included, and the least and the largest one."""

    d999_ms: float
    min_ms: float
    max_ms: float

    @property
    def pdv_ms(self) -> float:
        return self.d999_ms - self.min_ms


def variation(streams: Iterable[StreamResult], lost_ms: float) -> Variation:
    """Returns the delay variation of the frames of several streams; a lost frame has the delay `lost_ms`.

    If all are lost, the least delay counts as 0: no number is then smaller than the true one.
    """
    streams = [*streams]
    counts: dict[int, int] = {}
    for stream in streams:
        for bound, frames in (stream.delay.histogram if stream.delay else None) or []:
            counts[bound] = counts.get(bound, 0) + frames
    planned = sum(stream.planned for stream in streams)
    lost = planned - sum(counts.values())
    if not counts:
        return Variation(lost_ms, 0.0, lost_ms)
    ends = [stream.delay for stream in streams if stream.delay]
    least, largest = min(each.min_ns for each in ends) / _NS, max(each.max_ns for each in ends) / _NS
    rank, seen, high = math.ceil(_HIGH_RANK * planned), 0, lost_ms
    for bound in sorted(counts):
        seen += counts[bound]
        if seen >= rank:
            # The bound of a class may be above the largest delay in it.
            high = max(least, min(bound / _NS, largest))
            break
    return Variation(high, least, lost_ms if lost else largest)
