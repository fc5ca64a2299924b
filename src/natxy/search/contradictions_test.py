# SPDX-License-Identifier: Apache-2.0
"""Searches through gateways that change: none ends in a figure that such a gateway does not have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.search.binary import BinarySearch, LongestSearch
from natxy.search.contradictions import Bounds, Contradicted, Trials
from natxy.search.mlr import MlrSearch, TrialDurations
from natxy.search.outcome import (
    Attempt,
    NeverPrepared,
    Outcome,
    Sample,
    SearchResult,
    TesterLimitReached,
)

LIMIT = 14_660
PASSED = Sample(Outcome.PASS, 1000, 0)
BINARY = BinarySearch(1000, 20_000, relative_error=0.05)
STRICT = MlrSearch(1000, 20_000, 0.05, TrialDurations(1, 1, 1))
ROBUST = MlrSearch(1000, 20_000, 0.05, TrialDurations(0.1, 0.1, 0.5), exceed_ratio=0.5)
SEARCHES = pytest.mark.parametrize("search", [BINARY, STRICT, ROBUST], ids=["binary", "strict", "robust"])

Search = BinarySearch | MlrSearch
Share = Callable[[Attempt, int], float]


@dataclass
class Gateway:
    """Loses of each trial the share that `lost` returns for the attempt and its place among all; notes the attempts."""

    lost: Share
    tried: list[Attempt] = field(default_factory=list)

    def __call__(self, attempt: Attempt) -> Sample:
        frames = round(attempt.rate * (attempt.duration_s or 1))
        lost = math.ceil(frames * self.lost(attempt, len(self.tried)))
        self.tried.append(attempt)
        return Sample(Outcome.FAIL if lost else Outcome.PASS, frames, lost)


def limited(attempt: Attempt, _: int = 0) -> float:
    return max(0.0, 1 - LIMIT / attempt.rate)


def cliff(attempt: Attempt, _: int = 0) -> float:
    """Returns the loss of a gateway that forwards nothing above its limit."""
    return float(attempt.rate > LIMIT)


def dead_from(trial: int, share: float = 1.0) -> Share:
    """Returns the loss of a gateway of which that share dies before this trial."""
    return lambda attempt, number: max(limited(attempt), share if number >= trial else 0)


def run(search: Search, lost: Share) -> tuple[SearchResult | Contradicted, list[Attempt]]:
    gateway = Gateway(lost)
    try:
        return search.run(gateway), gateway.tried
    except Contradicted as contradicted:
        return contradicted, gateway.tried


@SEARCHES
def test_an_ordinary_gateway_is_not_tried_more_often(search: Search) -> None:
    found, tried = run(search, limited)
    assert isinstance(found, SearchResult)
    assert found.lower_bound == pytest.approx(LIMIT, rel=0.051)
    assert found.overcome is None
    assert len(tried) == found.steps
    if search is BINARY:
        assert len({attempt.rate for attempt in tried}) == found.steps


@SEARCHES
def test_one_that_forwards_nothing_above_its_limit_costs_its_bounds_once_more(search: Search) -> None:
    found, tried = run(search, cliff)
    assert isinstance(found, SearchResult)
    assert found.lower_bound is not None
    assert found.upper_bound is not None
    assert found.lower_bound <= LIMIT < found.upper_bound
    again = 2 if isinstance(search, BinarySearch) else 2 * (1 + search.forgiven)
    assert {attempt.rate for attempt in tried[-again:]} <= {found.lower_bound, found.upper_bound}


@SEARCHES
@pytest.mark.parametrize("share", [1.0, 0.5])
@given(trial=st.integers(0, 60))
@settings(max_examples=40)
def test_one_that_dies_has_no_figure_or_the_right_one(search: Search, share: float, trial: int) -> None:
    found, _ = run(search, dead_from(trial, share))
    if isinstance(found, Contradicted):
        worse, better = found.contradiction.worse, found.contradiction.better
        assert worse.rate <= better.rate
        assert worse.lost > better.lost
        return
    if trial == 0:
        # No rate ever passed.
        assert found.lower_bound is None
        return
    assert found.lower_bound == pytest.approx(LIMIT, rel=0.051)


def test_the_last_rate_that_passed_is_tried_again_before_a_binary_search_ends() -> None:
    """The gateway dies in the third trial, as 10.5 kfps had passed."""
    found, tried = run(BINARY, dead_from(2))
    assert isinstance(found, Contradicted)
    assert [attempt.rate for attempt in tried[:2]] == [10_500, 15_250]
    assert tried[-1].rate == 10_500
    assert str(found) == "100 % was lost at 10500 per second, but 0 % at 10500 per second"


@SEARCHES
@given(first=st.integers(1, 12), length=st.integers(1, 4))
@settings(max_examples=40)
def test_an_outage_that_ends_is_no_limit(search: Search, first: int, length: int) -> None:
    """A rate at which everything was lost is tried again where it would be the upper bound."""
    found, _ = run(search, lambda attempt, n: 1.0 if first <= n < first + length else limited(attempt))
    if isinstance(found, SearchResult):
        assert found.upper_bound is not None
        assert found.upper_bound > LIMIT
        assert found.lower_bound is not None
        assert found.lower_bound <= LIMIT


def test_a_binary_search_goes_on_above_an_accident() -> None:
    def lost(attempt: Attempt, number: int) -> float:
        return 0.4 if number == 2 else limited(attempt)

    found, tried = run(BINARY, lost)
    assert isinstance(found, SearchResult)
    assert tried[2].rate == 12_875
    assert found.lower_bound is not None
    assert 12_875 < found.lower_bound <= LIMIT
    assert found.overcome is None


@pytest.mark.parametrize("search", [STRICT, ROBUST])
def test_a_rate_that_lost_most_and_passes_later_is_told(search: MlrSearch) -> None:
    """The first trial loses 82 %, and no later one anything: as where connections of earlier trials stay."""
    found, tried = run(search, lambda _, number: 0.0 if number else 0.82)
    if isinstance(found, Contradicted):
        return
    assert found.overcome is not None
    assert found.overcome.worse.rate == 20_000
    assert found.overcome.worse.lost == pytest.approx(0.82)
    assert found.overcome.better.passed
    assert tried[-1].rate == found.lower_bound == 20_000


@SEARCHES
def test_more_loss_at_lower_rates_is_no_result(search: Search) -> None:
    """As of connections that expire: the slower they are made, the fewer are left."""
    found, tried = run(search, lambda attempt, _: 1 - 0.04 * attempt.rate / 1000)
    assert isinstance(found, Contradicted)
    worse, better = found.contradiction.worse, found.contradiction.better
    assert worse.rate < better.rate
    assert (worse.passed, better.passed) == (False, False)
    assert worse.lost > better.lost
    assert tried[-1].rate == worse.rate == 1000


@SEARCHES
@pytest.mark.parametrize("share", [0.023, 1.0])
def test_a_loss_that_is_the_same_at_every_rate_is_none(search: Search, share: float) -> None:
    found, _ = run(search, lambda _, number: share * (1 - 0.02 * (number % 2)))
    assert isinstance(found, SearchResult)
    assert (found.lower_bound, found.upper_bound) == (None, 1000)


def test_a_disturbance_contradicts_nothing() -> None:
    trials = Trials()
    trials.add(1000, Sample(Outcome.FAIL, 1000, 1000, disturbed=True))
    assert trials.settle(1000, 2000, lambda _: pytest.fail("it was tried again")) is Bounds.HOLD
    assert trials.overcome is None


def test_a_short_accident_may_lose_most_of_a_short_trial() -> None:
    """A thousand connections at 100,000 per second are made within 10 ms."""
    trials = Trials()
    trials.add(1e5, Sample(Outcome.FAIL, 1000, 800))
    trials.add(1e5, Sample(Outcome.PASS, 1000, 0))
    assert trials.settle(1e5, None, lambda _: pytest.fail("it was tried again")) is Bounds.HOLD
    assert trials.overcome is None


@pytest.mark.parametrize(
    ("forgiving", "lost", "found"),
    [(True, 240, Bounds.HOLD), (True, 250, None), (False, 240, Bounds.PASSED_FAILS), (False, 250, None)],
)
def test_near_its_limit_a_rate_may_lose_a_little_when_it_is_tried_again(
    *,
    forgiving: bool,
    lost: int,
    found: Bounds | None,
) -> None:
    trials = Trials(lowest=900, forgiving=forgiving)
    again = {1100: Sample(Outcome.FAIL, 1000, 1000), 1000: Sample(Outcome.FAIL, 1000, lost)}
    for rate, sample in ((1000, PASSED), (1100, again[1100])):
        trials.add(rate, sample)
    if found is None:
        with pytest.raises(Contradicted):
            trials.settle(1000, 1100, lambda rate: again[round(rate)])
    else:
        assert trials.settle(1000, 1100, lambda rate: again[round(rate)]) is found


def test_a_binary_search_goes_on_below_a_rate_that_passed_by_chance() -> None:
    """The first rate passes once, and then loses a little, as every rate above 9,000."""

    def lost(attempt: Attempt, number: int) -> float:
        if number == 0 or attempt.rate <= 9000:
            return 0.0
        return 0.9 if attempt.rate > 10_500 else 0.1

    found, tried = run(BINARY, lost)
    assert isinstance(found, SearchResult)
    assert tried[0].rate == 10_500
    assert found.lower_bound is not None
    assert found.upper_bound is not None
    assert found.lower_bound <= 9000 < found.upper_bound <= 10_500


def test_the_lowest_rate_that_loses_a_little_when_tried_again_is_no_result() -> None:
    trials = Trials(lowest=1000)
    trials.add(1000, PASSED)
    trials.add(1100, Sample(Outcome.FAIL, 1000, 1000))
    with pytest.raises(Contradicted, match=r"0\.1 % was lost at 1000 per second, but 0 % at 1000 per second"):
        trials.settle(1000, 1100, lambda _: Sample(Outcome.FAIL, 1000, 1))


@given(dies_at=st.integers(1, 30), truth=st.integers(1, 1000))
def test_the_longest_burst_of_a_gateway_that_dies_is_none_or_right(dies_at: int, truth: int) -> None:
    tried: list[int] = []

    def burst(frames: int) -> Sample:
        tried.append(frames)
        if len(tried) > dies_at:
            return Sample(Outcome.FAIL, frames, frames)
        return Sample(Outcome.PASS, frames, 0) if frames <= truth else Sample(Outcome.FAIL, frames, frames - truth)

    try:
        passed, failed = LongestSearch(1000, 1).run(burst)
    except Contradicted:
        assert len(tried) > dies_at
        return
    assert passed <= truth
    assert passed in {0, truth}
    assert failed is None or passed == 0 or failed == truth + 1


OUTCOMES = st.sampled_from([*Outcome])


@settings(max_examples=400, deadline=None)
@given(
    drawn=st.lists(st.tuples(OUTCOMES, st.floats(0, 1)), max_size=60),
    last=OUTCOMES,
    search=st.sampled_from([BINARY, STRICT, ROBUST, BinarySearch(1, 1000, absolute_error=1, max_invalid=1)]),
)
def test_any_order_of_outcomes_and_losses_ends_in_a_result_or_in_a_reason(
    drawn: list[tuple[Outcome, float]], last: Outcome, search: Search
) -> None:
    """Once all that is drawn has been used, every trial ends as the last one."""
    given = iter(drawn)

    def measure(_: Attempt) -> Sample:
        outcome, share = next(given, (last, 0.5))
        return Sample(outcome, 1000, 0 if outcome == Outcome.PASS else math.ceil(1000 * share))

    try:
        found = search.run(measure)
    except (TesterLimitReached, NeverPrepared):
        return
    except Contradicted as contradicted:
        pair = contradicted.contradiction
        assert pair.worse.rate <= pair.better.rate
        return
    assert found.lower_bound is not None or found.upper_bound is not None
    if found.lower_bound is not None and found.upper_bound is not None:
        assert found.lower_bound < found.upper_bound
