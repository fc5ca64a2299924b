# SPDX-License-Identifier: Apache-2.0
"""Measures how the clocks of several engines differ, over the connections that carry their requests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from natxy.engine.interface import Engine
from natxy.engine.messages.ports import EngineClock

# Of so many exchanges the fastest one counts, because the others waited for something.
_EXCHANGES: Final = 8


@runtime_checkable
class TimedEngine(Engine, Protocol):
    """Adds a clock that can be read between trials."""

    def read_clock(self) -> EngineClock: ...


@dataclass(frozen=True)
class ClockOffset:
    """Holds an engine's clock minus this process's, which is at most `error_ns` more or less."""

    offset_ns: int
    error_ns: int


def now_ns() -> int:
    """Returns this process's clock, whose rate nothing adjusts while a trial waits for its start."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def measured_offset(engine: TimedEngine) -> ClockOffset:
    """Returns the offset of an engine's clock, by the exchange that took the shortest time.

    The engine read its clock at some moment between the request and the reply; their middle is at most half of the
    exchange away from it, however different the two ways are.
    """
    return min((_exchange(engine) for _ in range(_EXCHANGES)), key=lambda offset: offset.error_ns)


def _exchange(engine: TimedEngine) -> ClockOffset:
    before_ns = now_ns()
    clock_ns = engine.read_clock().clock_ns
    after_ns = now_ns()
    return ClockOffset(clock_ns - (before_ns + after_ns) // 2, (after_ns - before_ns) // 2 + 1)
