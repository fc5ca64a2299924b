# SPDX-License-Identifier: Apache-2.0
"""Tests the counters of cores, with counters of software where the machine has none of hardware."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from natxy.dut.linux.core_instructions import CoreInstructions

# Of linux/perf_event.h: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_SW_CONTEXT_SWITCHES.
SOFTWARE, CLOCK, SWITCHES = 1, 0, 3


@pytest.fixture
def counters() -> Iterator[CoreInstructions]:
    found = CoreInstructions(sorted(os.sched_getaffinity(0)), SOFTWARE, (CLOCK, SWITCHES))
    found.begin()
    found.end()
    if found.spent() is None:
        pytest.skip("this machine lets nobody count by perf_event_open")
    yield found
    found.close()


def test_counts_between_begin_and_end(counters: CoreInstructions) -> None:
    counters.begin()
    sum(range(1_000_000))
    counters.end()
    spent = counters.spent()
    assert spent
    # The clock counts nanoseconds.
    assert spent.count > 1_000_000
    counters.begin()
    counters.end()
    less = counters.spent()
    assert less
    assert less.count < spent.count


def test_nothing_is_known_once_it_is_closed(counters: CoreInstructions) -> None:
    counters.begin()
    counters.close()
    counters.end()
    assert counters.spent() is None
    counters.begin()
    counters.end()
    assert counters.spent() is None


def test_nothing_is_known_of_a_core_that_is_not_there() -> None:
    absent = CoreInstructions([1 << 20])
    absent.begin()
    absent.end()
    assert absent.spent() is None
