# SPDX-License-Identifier: Apache-2.0
"""Compares the engine's clock with those of the kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass

from natxy.engine.client import EngineClient


@dataclass(frozen=True)
class Clocks:
    """Holds by how much the engine's clock, the CPU's time stamp counter, is ahead of two of the kernel's.

    Their origins differ, so only differences between two readings mean something.
    """

    ahead_of_raw_ns: int
    ahead_of_monotonic_ns: int

    @classmethod
    def read(cls, engine: EngineClient) -> Clocks:
        clock = engine.read_clock()
        ahead_ns = clock.clock_ns - clock.raw_ns
        return cls(ahead_ns, ahead_ns - _monotonic_ahead_of_raw_ns())

    def __sub__(self, origin: Clocks) -> Clocks:
        return Clocks(
            self.ahead_of_raw_ns - origin.ahead_of_raw_ns, self.ahead_of_monotonic_ns - origin.ahead_of_monotonic_ns
        )


def _monotonic_ahead_of_raw_ns() -> int:
    """Returns CLOCK_MONOTONIC less CLOCK_MONOTONIC_RAW, by the one of several readings that took the least time."""

    def reading() -> tuple[int, int]:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        monotonic = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return after - before, monotonic - (before + after) // 2

    return min(reading() for _ in range(32))[1]
