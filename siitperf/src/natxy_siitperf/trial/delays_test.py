# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import DelaySummary, Pacing, StreamResult
from natxy_siitperf.trial.delays import latency, variation

MS = 1_000_000


def stream(planned: int, histogram: list[tuple[int, int]]) -> StreamResult:
    received = sum(frames for _, frames in histogram)
    times = [bound for bound, _ in histogram]
    delay = DelaySummary(
        count=received, min_ns=min(times), max_ns=max(times), mean_ns=0, median_ns=0, p1_ns=0, p99_ns=0, p999_ns=0,
        histogram=histogram,
    ) if received else None  # fmt: skip
    pacing = Pacing(median_ns=0, p99_ns=0, p999_ns=0, max_ns=0, overrun_ns=0, max_pause_ns=0, refused=0)
    return StreamResult(
        name="Forward", source=Side.LEFT, role=StreamRole.FOREGROUND,
        planned=planned, sent=planned, unsent=0, received=received, lost=planned - received,
        duplicate=0, reordered=0, corrupt=0, misrouted=0, beyond_window=0, intended_rate_fps=1, offered_rate_fps=1,
        pacing=pacing, delay=delay, sent_per_second=[], received_per_second=[],
    )  # fmt: skip


def test_latency_is_the_median_and_the_rank_of_999_in_1000() -> None:
    tagged: list[int | None] = [number * MS for number in range(1, 1001)]
    assert latency(tagged, 9000.0) == (500.5, 999.0)
    assert latency([2 * MS], 9000.0) == (2.0, 2.0)


def test_a_lost_tagged_frame_has_the_longest_delay() -> None:
    assert latency([1 * MS] * 998 + [None] * 2, 9000.0) == (1.0, 9000.0)
    assert latency([1 * MS] * 999 + [None], 9000.0) == (1.0, 1.0)
    assert latency([None, None], 9000.0) == (9000.0, 9000.0)


def test_variation_is_over_the_frames_of_all_streams() -> None:
    found = variation([stream(500, [(MS, 500)]), stream(500, [(2 * MS, 499), (5 * MS, 1)])], 9000.0)
    assert (found.min_ms, found.d999_ms, found.max_ms) == (1.0, 2.0, 5.0)
    assert found.pdv_ms == 1.0


@pytest.mark.parametrize(("lost", "d999"), [(0, 1.0), (1, 1.0), (2, 9000.0)])
def test_a_lost_frame_counts_as_the_longest_delay(lost: int, d999: float) -> None:
    assert variation([stream(1000, [(MS, 1000 - lost)])], 9000.0).d999_ms == d999


def test_the_variation_of_lost_frames_alone_is_not_0() -> None:
    assert variation([stream(1000, [])], 9000.0).pdv_ms == 9000.0
