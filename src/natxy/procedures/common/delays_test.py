# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.results import DelaySummary, DelayVariation
from natxy.procedures.common.delays import joined
from natxy.procedures.common.traffic import DRAWN_PERCENTILES
from natxy.results.statistics import percentile

# The engine's buckets (engine/measure/histogram.hpp): exact below 2048, within 1/1024 above.
LINEAR = 2048
ERROR = 1 / 1024


def upper_bound(value: int) -> int:
    shift = max(0, value.bit_length() - LINEAR.bit_length() + 1)
    return ((value >> shift) + 1 << shift) - 1


def summary(values: Sequence[int], histogram: Sequence[tuple[int, int]] | None = None) -> DelaySummary:
    """Returns what an engine says of these delays."""
    unused: dict[str, Any] = dict.fromkeys(("mean_ns", "median_ns", "p1_ns", "p99_ns", "p999_ns"), 0)
    buckets = Counter(min(upper_bound(value), max(values)) for value in values)
    return DelaySummary(
        count=len(values),
        min_ns=min(values),
        max_ns=max(values),
        histogram=sorted(buckets.items()) if histogram is None else list(histogram),
        **unused,
    )


samples = st.lists(st.one_of(st.integers(0, 5000), st.integers(0, 2**40)), min_size=1)


@given(st.lists(samples, min_size=1, max_size=5))
def test_percentiles_of_several_testers_are_those_of_all_their_samples(testers: list[list[int]]) -> None:
    union = [value for values in testers for value in values]
    found = joined(map(summary, testers))
    assert found is not None
    assert (found.least_ns, found.largest_ns) == (min(union), max(union))
    for percent in DRAWN_PERCENTILES:
        exact = percentile(union, percent)
        assert exact <= found.percentile(percent) <= exact * (1 + ERROR)


def variation(values: Sequence[int]) -> DelayVariation:
    """Returns what an engine says of these variations: a bucket's bound is the one farther from zero."""
    unused: dict[str, Any] = dict.fromkeys(("p1_ns", "median_ns", "p99_ns"), 0)
    buckets = Counter(
        min(upper_bound(value), max(values)) if value >= 0 else max(-upper_bound(-value), min(values))
        for value in values
    )
    return DelayVariation(
        pairs=len(values), min_ns=min(values), max_ns=max(values), histogram=sorted(buckets.items()), **unused
    )


signed = st.lists(st.one_of(st.integers(-5000, 5000), st.integers(-(2**40), 2**40)), min_size=1)


@given(st.lists(signed, min_size=1, max_size=5))
def test_variations_of_several_testers_are_those_of_all_their_pairs_of_frames(testers: list[list[int]]) -> None:
    union = [value for values in testers for value in values]
    found = joined(map(variation, testers))
    assert found is not None
    assert (found.least_ns, found.largest_ns) == (min(union), max(union))
    for percent in (1, 50, 99):
        exact = percentile(union, percent)
        assert abs(exact) <= abs(found.percentile(percent)) <= abs(exact) * (1 + ERROR)
        assert exact * found.percentile(percent) >= 0


@given(samples)
def test_percentiles_of_one_tester_are_its_own(values: list[int]) -> None:
    found = joined([None, summary(values)])
    assert found is not None
    ordered = sorted(min(upper_bound(value), max(values)) for value in values)
    for percent in DRAWN_PERCENTILES:
        assert found.percentile(percent) == ordered[max(1, math.ceil(percent * len(ordered) / 100 - 1e-9)) - 1]


def test_a_percentile_is_reached_by_exactly_its_share_of_the_frames() -> None:
    found = joined([summary([1, 33], [(10, 500), (20, 499), (40, 1)])])
    assert found is not None
    assert [found.percentile(percent) for percent in (50, 51, 99.9, 100)] == [10, 20, 20, 33]


@pytest.mark.parametrize("nothing", [[], [None], [summary([1], [])]])
def test_nothing_has_no_distribution(nothing: list[DelaySummary | None]) -> None:
    assert joined(nothing) is None
