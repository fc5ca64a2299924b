# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.requests import TaggedFrames
from natxy.engine.simulation.delays import PERIOD, SimulatedDelays
from natxy.results.statistics import percentile

DELAYS = st.builds(
    SimulatedDelays, st.integers(min_value=0, max_value=10**9), st.integers(min_value=0, max_value=10**9)
)


@settings(max_examples=30, deadline=None)
@given(DELAYS, st.integers(min_value=2, max_value=3000))
def test_summaries_are_those_of_the_single_frames(delays: SimulatedDelays, frames: int) -> None:
    single = [delays.of(frame) for frame in range(frames)]
    summary, variation = delays.summary(frames, histogram=True), delays.variation(frames, histogram=False)
    assert summary is not None
    assert variation is not None
    assert (summary.min_ns, summary.max_ns, summary.count) == (min(single), max(single), frames)
    assert [summary.p1_ns, summary.median_ns, summary.p99_ns, summary.p999_ns] == [
        percentile(single, percent) for percent in (1, 50, 99, 99.9)
    ]
    assert sum(occurrences for _, occurrences in summary.histogram or ()) == frames
    differences = [later - earlier for earlier, later in pairwise(single)]
    assert (variation.min_ns, variation.max_ns, variation.pairs) == (min(differences), max(differences), frames - 1)
    assert variation.median_ns == percentile(differences, 50)


@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=0, max_value=10**6), st.integers(min_value=1, max_value=PERIOD - 1))
def test_tagged_frames_meet_every_delay(first: int, stride: int) -> None:
    frames = first + stride * PERIOD
    tagged = SimulatedDelays(100, PERIOD - 1).tagged(
        TaggedFrames(first=first, stride=stride, count=PERIOD), frames, frames
    )
    assert sorted(delay for delay in tagged if delay is not None) == list(range(100, 100 + PERIOD))


@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=1, max_value=2000), st.data())
def test_lost_frames_have_no_delay(frames: int, data: st.DataObject) -> None:
    received = data.draw(st.integers(min_value=0, max_value=frames))
    tagged = SimulatedDelays(1, 1).tagged(TaggedFrames(first=0, stride=1, count=frames), frames, received)
    assert tagged.count(None) == frames - received


def test_without_frames_there_are_no_delays() -> None:
    assert SimulatedDelays(1, 1).summary(0, histogram=False) is None
    assert SimulatedDelays(1, 1).variation(1, histogram=False) is None
