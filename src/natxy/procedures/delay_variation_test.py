# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.results import DelaySummary
from natxy.procedures.common.traffic import DRAWN_PERCENTILES
from natxy.procedures.delay_variation import _percentiles


def summary(histogram: Sequence[tuple[int, int]], *, longest_ns: int) -> DelaySummary:
    count = sum(frames for _, frames in histogram)
    return DelaySummary(
        count=count,
        min_ns=1,
        max_ns=longest_ns,
        mean_ns=1,
        median_ns=1,
        p1_ns=1,
        p99_ns=1,
        p999_ns=1,
        histogram=list(histogram),
    )


def test_a_percentile_is_reached_by_exactly_its_share_of_the_frames() -> None:
    found = dict(_percentiles(summary([(10, 500), (20, 499), (40, 1)], longest_ns=33)))
    assert (found[0.0], found[50.0], found[51.0], found[99.9], found[100.0]) == (1, 10, 20, 20, 33)


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 50)), min_size=1).filter(lambda h: any(n for _, n in h)))
def test_percentiles_are_those_of_the_sorted_delays(buckets: list[tuple[int, int]]) -> None:
    histogram = sorted(dict(buckets).items())
    delays = [upper for upper, frames in histogram for _ in range(frames)]
    if not delays:
        return
    found = list(_percentiles(summary(histogram, longest_ns=delays[-1])))
    assert [percent for percent, _ in found] == [0.0, *DRAWN_PERCENTILES]
    for percent, delay_ns in found[1:]:
        at_most = sum(delay <= delay_ns for delay in delays)
        below = sum(delay < delay_ns for delay in delays)
        assert 100 * at_most >= percent * len(delays) * (1 - 1e-9)
        assert 100 * below < percent * len(delays)


def test_without_a_histogram_only_the_least_delay_is_known() -> None:
    known = summary([(10, 1)], longest_ns=10).model_copy(update={"histogram": None})
    assert list(_percentiles(known)) == [(0.0, 1.0)]
