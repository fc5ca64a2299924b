# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.search.contradictions import Contradicted
from natxy.search.mlr import MlrSearch, TrialDurations
from natxy.search.outcome import Attempt, NeverPrepared, Outcome, Sample, TesterLimitReached

STRICT = TrialDurations(60, 60, 60)
FAST = TrialDurations(1, 60, 60)
ERROR = 0.01


@dataclass
class Dut:
    """Forwards at most `truth` frames per second, or a tenth of that under overload with `livelock`."""

    truth: float
    livelock: bool = False
    tried: list[Attempt] = field(default_factory=list)

    def __call__(self, attempt: Attempt) -> Sample:
        self.tried.append(attempt)
        frames = max(1, round(attempt.rate * (attempt.duration_s or 1)))
        if attempt.rate <= self.truth:
            return Sample(Outcome.PASS, frames, 0)
        forwarded = self.truth / (10 if self.livelock else 1)
        return Sample(Outcome.FAIL, frames, math.ceil(frames * (1 - forwarded / attempt.rate)))

    @property
    def traffic_s(self) -> float:
        return sum(attempt.duration_s or 0 for attempt in self.tried)


def search_with(durations: TrialDurations | None, error: float = ERROR) -> MlrSearch:
    return MlrSearch(1e3, 1e6, error, durations)


@pytest.mark.parametrize("durations", [STRICT, FAST, None])
@settings(max_examples=150, deadline=None)
@given(
    truth=st.floats(min_value=1.1e3, max_value=9.9e5),
    error=st.floats(min_value=1e-3, max_value=0.1),
    livelock=st.booleans(),
)
def test_the_truth_is_within_the_width(
    durations: TrialDurations | None, truth: float, error: float, livelock: bool
) -> None:
    dut = Dut(truth, livelock)
    found = search_with(durations, error).run(dut)
    assert found.lower_bound is not None
    assert found.upper_bound is not None
    assert found.rate == found.lower_bound <= truth < found.upper_bound
    assert found.upper_bound - found.lower_bound <= error * found.upper_bound * (1 + 1e-6)
    assert found.conditional_rate == found.rate
    assert found.steps == len(dut.tried)
    assert [attempt.step for attempt in dut.tried] == [*range(1, found.steps + 1)]
    assert all(1e3 * 0.999 <= attempt.rate <= 1e6 * 1.001 for attempt in dut.tried)


def test_what_passes_was_tried_at_full_length() -> None:
    dut = Dut(123_456)
    found = search_with(FAST).run(dut)
    full = [attempt.rate for attempt in dut.tried if attempt.duration_s == 60]
    assert found.lower_bound in full
    assert {attempt.duration_s for attempt in dut.tried} == {1, 60}


def test_it_needs_less_traffic_than_halving() -> None:
    halvings = math.ceil(math.log2((1e6 - 1e3) / (ERROR * 123_456)))
    for durations in (STRICT, FAST):
        dut = Dut(123_456)
        search_with(durations).run(dut)
        assert dut.traffic_s < 60 * halvings / 2


@pytest.mark.parametrize(("lowest", "highest"), [(1, 5), (2e3, 5e3), (2e9, 5e9)])
def test_the_limits_may_be_any_rates(lowest: float, highest: float) -> None:
    truth = (lowest + highest) / 2
    dut = Dut(truth)
    assert MlrSearch(lowest, highest, ERROR, STRICT).run(dut).rate == pytest.approx(truth, rel=ERROR)
    assert all(0.999 * lowest <= attempt.rate <= 1.001 * highest for attempt in dut.tried)
    slow = Dut(lowest / 2)
    MlrSearch(lowest, highest, ERROR, STRICT).run(slow)
    assert min(attempt.rate for attempt in slow.tried) == pytest.approx(lowest)


def test_faster_than_the_highest_rate() -> None:
    found = search_with(STRICT).run(Dut(2e6))
    assert found.rate == pytest.approx(1e6)
    assert found.upper_bound is None


def test_slower_than_the_lowest_rate() -> None:
    found = search_with(STRICT).run(Dut(500))
    assert (found.rate, found.lower_bound, found.conditional_rate) == (0, None, None)
    assert found.upper_bound == pytest.approx(1e3)


def test_a_trial_that_fails_without_loss_is_no_pass() -> None:
    def rewrites_wrongly(attempt: Attempt) -> Sample:
        return Sample(Outcome.FAIL if attempt.rate > 50_000 else Outcome.PASS, 100_000, 0)

    assert search_with(STRICT).run(rewrites_wrongly).rate == pytest.approx(50_000, rel=ERROR)


@pytest.mark.parametrize("undecided", [Sample(Outcome.INVALID, 10, 10), Sample(Outcome.UNPREPARED, 0, 0)])
def test_tries_that_decide_nothing_are_repeated(undecided: Sample) -> None:
    dut = Dut(123_456)

    def every_other_time(attempt: Attempt) -> Sample:
        return dut(attempt) if attempt.number == 2 else undecided

    assert search_with(STRICT).run(every_other_time).rate == search_with(STRICT).run(Dut(123_456)).rate


def test_a_disturbed_failure_decides_as_a_last_resort() -> None:
    dut = Dut(123_456)

    def disturbed(attempt: Attempt) -> Sample:
        sample = dut(attempt)
        if sample.outcome == Outcome.PASS:
            return sample
        return replace(sample, outcome=Outcome.DISTURBED) if attempt.number == 1 else Sample(Outcome.INVALID, 10, 0)

    assert search_with(STRICT).run(disturbed).rate == search_with(STRICT).run(Dut(123_456)).rate


def test_a_tester_that_sends_nothing_is_no_result() -> None:
    tried: list[Attempt] = []

    def never(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return Sample(Outcome.INVALID, 10, 0)

    with pytest.raises(TesterLimitReached):
        search_with(STRICT).run(never)
    # Ten halvings lead from the highest to the lowest rate.
    assert len({attempt.rate for attempt in tried}) == 10


@given(truth=st.floats(min_value=1.1e3, max_value=9.9e5), tester_limit=st.floats(min_value=1.1e3, max_value=1e6))
def test_the_highest_rate_may_be_more_than_the_tester_sends(truth: float, tester_limit: float) -> None:
    dut = Dut(truth)

    def limited(attempt: Attempt) -> Sample:
        return dut(attempt) if attempt.rate <= tester_limit else Sample(Outcome.INVALID, 10, 10)

    try:
        found = search_with(STRICT).run(limited)
    except TesterLimitReached:
        # Halving does not reach the lowest rate itself.
        assert tester_limit < 2e3
        return
    if tester_limit > truth / (1 - ERROR):
        assert found.rate == pytest.approx(truth, rel=ERROR)
    elif tester_limit < truth:
        assert found.rate == pytest.approx(tester_limit, rel=1.01 * ERROR)
        assert found.rate <= tester_limit
        assert found.upper_bound is None
        assert found.unsent_rate is not None
        assert tester_limit < found.unsent_rate <= found.rate * (1 + 1.1 * ERROR)


@settings(deadline=None)
@given(
    truth=st.floats(min_value=1.1e3, max_value=2e6),
    short=st.floats(min_value=4e3, max_value=2e6),
    share=st.floats(min_value=0.5, max_value=1),
)
def test_the_tester_may_send_only_short_trials_at_high_rates(truth: float, short: float, share: float) -> None:
    dut, limits = Dut(truth), {0.1: short, 0.25: share * short}

    def limited(attempt: Attempt) -> Sample:
        assert attempt.duration_s
        return dut(attempt) if attempt.rate <= limits[attempt.duration_s] else Sample(Outcome.INVALID, 10, 10)

    found = search_with(TrialDurations(0.1, 0.25, 0.25)).run(limited)
    most = min(limits[0.25], 1e6)
    assert found.rate == pytest.approx(min(truth, most), rel=1.01 * ERROR)
    assert found.rate <= min(truth, most)
    if truth > most:
        assert found.upper_bound is None or found.upper_bound > truth
        assert most == 1e6 or (found.unsent_rate and most < found.unsent_rate <= found.rate * (1 + 1.1 * ERROR))
    elif truth < most * (1 - ERROR):
        assert found.upper_bound is not None
        assert truth < found.upper_bound <= found.rate * (1 + 1.1 * ERROR)
    assert [attempt.step for attempt in dut.tried] == sorted({attempt.step for attempt in dut.tried})


def test_what_passed_below_the_limit_of_a_longer_trial_is_kept() -> None:
    tried: list[Attempt] = []

    def sent(attempt: Attempt) -> Sample:
        tried.append(attempt)
        limit = 1000 if attempt.duration_s == 0.1 else 800
        return Sample(Outcome.PASS if attempt.rate <= limit else Outcome.INVALID, 1000, 0)

    found = MlrSearch(100, 1000, ERROR, TrialDurations(0.1, 0.25, 0.25)).run(sent)
    assert 800 * (1 - ERROR) <= found.rate <= 800
    assert found.unsent_rate
    assert 800 < found.unsent_rate <= found.rate * (1 + 1.1 * ERROR)
    # The highest rate was sent in a short trial, but in no long one: no other attempt is made at it.
    assert {attempt.step for attempt in tried if attempt.rate == 1000 and attempt.duration_s == 0.25} == {2}
    # Those that pass are not tried again, neither to find the highest nor by the library.
    long = [attempt.rate for attempt in tried if attempt.duration_s == 0.25 and attempt.rate <= 800]
    assert len(long) == len({*long})


def test_a_preparation_that_fails_later_ends_the_search_at_once() -> None:
    tried: list[Attempt] = []

    def prepared_once(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return Sample(Outcome.FAIL, 1000, 500) if len(tried) == 1 else Sample(Outcome.INVALID_PREPARATION, 10, 10)

    with pytest.raises(TesterLimitReached):
        search_with(STRICT).run(prepared_once)
    assert [(attempt.step, attempt.number) for attempt in tried] == [(1, 1), (2, 1), (2, 2), (2, 3)]


def test_the_highest_rate_has_two_attempts_before_lower_ones() -> None:
    dut = Dut(123_456)

    def limited(attempt: Attempt) -> Sample:
        sample = dut(attempt)
        return Sample(Outcome.INVALID, 10, 10) if attempt.rate > 300e3 else sample

    search_with(STRICT).run(limited)
    assert [(attempt.rate, attempt.number) for attempt in dut.tried][:5] == [
        (1e6, 1), (1e6, 2), (0.5e6, 1), (0.5e6, 2), (0.25e6, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("brackets", "steps"), [(0.999, 5), (1.001, 6), (3.001, 7)])
def test_the_expected_steps_halve_a_64th_of_the_range(brackets: float, steps: int) -> None:
    error = math.log(10) / (64 * brackets)
    assert MlrSearch(1e3, 1e4, error, STRICT).expected_steps() == steps
    assert MlrSearch(1e3, 1e4, error).expected_steps() == steps, "one trial decides unless the search says otherwise"
    assert MlrSearch(1e3, 1e4, error, TrialDurations(6, 12, 60)).expected_steps() == steps + 4
    assert MlrSearch(1e3, 1e4, error, trials=3).expected_steps() == steps + 2


@pytest.mark.parametrize("truth", [123_456, 2e6])
def test_an_accident_in_a_longer_trial_changes_nothing(truth: float) -> None:
    dut = Dut(truth)
    spoilt: list[float] = []

    def once(attempt: Attempt) -> Sample:
        if attempt.duration_s == 60 and (not spoilt or (spoilt == [attempt.rate] * len(spoilt) and len(spoilt) < 3)):
            spoilt.append(attempt.rate)
            return Sample(Outcome.INVALID, 10, 10)
        return dut(attempt)

    found = search_with(FAST).run(once)
    assert found.rate == pytest.approx(min(truth, 1e6), rel=1.01 * ERROR)
    assert (found.upper_bound is None) == (truth > 1e6)
    assert len(spoilt) == 3


def test_a_tester_that_sends_no_rate_twice_is_no_result() -> None:
    sent: set[float] = set()

    def once_each(attempt: Attempt) -> Sample:
        outcome = Outcome.INVALID if attempt.rate in sent else Outcome.PASS
        sent.add(attempt.rate)
        return Sample(outcome, 1000, 0)

    with pytest.raises(TesterLimitReached):
        MlrSearch(1e3, 1e6, ERROR, trials=2).run(once_each)


def test_a_preparation_that_the_tester_cannot_send_ends_the_search() -> None:
    tried: list[Attempt] = []

    def unprepared(attempt: Attempt) -> Sample:
        tried.append(attempt)
        return Sample(Outcome.INVALID_PREPARATION, 10, 10)

    with pytest.raises(TesterLimitReached):
        search_with(STRICT).run(unprepared)
    assert [attempt.rate for attempt in tried] == [1e6] * 3


@given(truth=st.floats(min_value=2e3, max_value=2e6), ceiling=st.floats(min_value=500, max_value=2e6))
def test_above_its_ceiling_a_search_goes_only_if_that_passes(truth: float, ceiling: float) -> None:
    dut = Dut(truth)
    found = replace(search_with(STRICT), ceiling=ceiling).run(dut)
    if ceiling > 1e3 and truth < ceiling:
        assert max(attempt.rate for attempt in dut.tried) <= ceiling * (1 + 1e-6)
    assert found.rate == pytest.approx(min(truth, 1e6), rel=1.01 * ERROR)
    assert (found.upper_bound is None) == (truth >= 1e6)


@pytest.mark.parametrize("truth", [0.45e6, 0.51e6, 0.65e6])
def test_the_rate_below_what_the_tester_sends_may_fail_by_accident(truth: float) -> None:
    dut = Dut(truth)
    tried: set[float] = set()

    def first_fails(attempt: Attempt) -> Sample:
        if attempt.rate > 0.7e6:
            return Sample(Outcome.INVALID, 10, 10)
        first = attempt.rate not in tried
        tried.add(attempt.rate)
        return Sample(Outcome.FAIL, 10_000, 1) if first else dut(attempt)

    search = MlrSearch(1e3, 1e6, ERROR, TrialDurations(0.1, 0.1, 0.5), exceed_ratio=0.5)
    found = search.run(first_fails)
    assert found.rate == pytest.approx(truth, rel=1.5 * ERROR)
    assert found.upper_bound is not None
    assert found.rate < found.upper_bound <= 0.7e6


def test_the_only_rate_of_a_search_may_be_beyond_the_tester() -> None:
    with pytest.raises(TesterLimitReached):
        MlrSearch(1e3, 1e3, ERROR, STRICT).run(lambda _: Sample(Outcome.INVALID, 10, 10))


@pytest.mark.parametrize("truth", [123_456, 2e6])
def test_accidents_at_the_highest_rate_change_nothing(truth: float) -> None:
    dut = Dut(truth)
    at_highest = 0

    def twice_disturbed(attempt: Attempt) -> Sample:
        nonlocal at_highest
        at_highest += attempt.rate == 1e6
        return Sample(Outcome.INVALID, 10, 10) if attempt.rate == 1e6 and at_highest <= 2 else dut(attempt)

    found = search_with(STRICT).run(twice_disturbed)
    assert found.rate == pytest.approx(min(truth, 1e6), rel=ERROR)
    assert (found.upper_bound is None) == (truth > 1e6)


@pytest.mark.parametrize("durations", [TrialDurations(0.1, 0.15, 0.75), None])
@pytest.mark.parametrize(("passing", "found"), [(2, 1e6), (1, None)])
def test_three_of_five_trials_may_fail(durations: TrialDurations | None, passing: int, found: float | None) -> None:
    trials: dict[float, int] = {}

    def passes_at_first(attempt: Attempt) -> Sample:
        if attempt.duration_s != 0.1:
            trials[attempt.rate] = trials.get(attempt.rate, 0) + 1
        lost = trials.get(attempt.rate, 0) > passing
        return Sample(Outcome.FAIL if lost else Outcome.PASS, 10_000, 100 if lost else 0)

    search = MlrSearch(1e3, 1e6, ERROR, durations, trials=5, exceed_ratio=0.6)
    result = search.run(passes_at_first)
    assert result.lower_bound == (found and pytest.approx(found))
    # Two passes decide for a rate, four failures against it.
    assert set(trials.values()) == {passing if found else passing + 4}


@pytest.mark.parametrize("highest", [1.5e3, 2e3, 3e3, 4e3, 8e3, 16e3])
@pytest.mark.parametrize("width", [1 / 16, 1 / 8, 1 / 4, 1 / 3, 1 / 2])
def test_a_width_may_equal_the_range(highest: float, width: float) -> None:
    search = MlrSearch(1e3, highest, width, TrialDurations(0.1, 0.2, 1.0), exceed_ratio=0.6)
    assert search.run(lambda _: Sample(Outcome.PASS, 600, 0)).lower_bound == highest

    def limited(attempt: Attempt) -> Sample:
        return Sample(Outcome.FAIL, 600, 6) if attempt.rate > 1200 else Sample(Outcome.PASS, 600, 0)

    found = search.run(limited)
    assert found.lower_bound is not None
    assert found.upper_bound is not None
    assert found.lower_bound <= 1200 < found.upper_bound
    assert found.upper_bound - found.lower_bound <= width * found.upper_bound


def test_an_exceed_ratio_forgives_some_trials() -> None:
    tried = []

    def one_of_ten_lossy(attempt: Attempt) -> Sample:
        tried.append(attempt)
        lost = attempt.rate > 123_456 or len(tried) % 10 == 9
        return Sample(Outcome.FAIL if lost else Outcome.PASS, 10_000, 100 if lost else 0)

    search = MlrSearch(1e3, 1e6, ERROR, TrialDurations(1, 1, 21), exceed_ratio=0.5)
    assert search.run(one_of_ten_lossy).rate == pytest.approx(123_456, rel=2 * ERROR)


@pytest.mark.parametrize("lowest_disturbed", [1e6, 5e5, 2.5e5])
def test_a_tester_that_is_disturbed_for_a_while_searches_up_to_the_highest_rate_after_all(
    lowest_disturbed: float,
) -> None:
    tried: dict[float, int] = {}

    def at_first_disturbed(attempt: Attempt) -> Sample:
        tried[attempt.rate] = tried.get(attempt.rate, 0) + 1
        disturbed = attempt.rate in (1e6, 5e5, 2.5e5) and attempt.rate >= lowest_disturbed and tried[attempt.rate] <= 2
        return Sample(Outcome.INVALID if disturbed else Outcome.PASS, 10_000, 0)

    found = search_with(STRICT).run(at_first_disturbed)
    assert (found.rate, found.upper_bound) == (1e6, None)


@pytest.mark.parametrize(
    ("durations", "trials"), [(STRICT, 1), (FAST, 1), (None, 1), (None, 5), (TrialDurations(6, 12, 60), 1)]
)
def test_a_search_has_about_as_many_steps_as_expected(durations: TrialDurations | None, trials: int) -> None:
    for error in (1e-3, ERROR, 0.1):
        search = MlrSearch(1e3, 1e6, error, durations, trials)
        for truth in (5e3, 123_456, 9e5):
            steps = search.run(Dut(truth, livelock=True)).steps
            assert steps / 2.6 <= search.expected_steps() <= 2.6 * steps


@pytest.mark.parametrize("loss_ratio", [0.001, 0.01, 0.3])
def test_a_trial_that_loses_exactly_what_is_tolerated_passes(loss_ratio: float) -> None:
    def lossy(attempt: Attempt) -> Sample:
        passed = attempt.rate <= 123_456
        lost = round(100_000 * loss_ratio)
        return Sample(Outcome.PASS if passed else Outcome.FAIL, 100_000, lost if passed else 10 * lost // 3)

    search = MlrSearch(1e3, 1e6, ERROR, STRICT, loss_ratio=loss_ratio)
    assert search.run(lossy).rate == pytest.approx(123_456, rel=ERROR)


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("decided", [0, 1, 2])
def test_the_lowest_rate_may_be_the_only_one_that_the_tester_sends(decided: int, passes: bool) -> None:
    """All higher rates are lost, and most attempts at the lowest one are invalid, as beside a busy program."""
    outcome, attempts = Outcome.PASS if passes else Outcome.FAIL, itertools.count(1)

    def measure(attempt: Attempt) -> Sample:
        if attempt.rate > 5000:
            return Sample(Outcome.FAIL, 25_000, 40)
        number = next(attempts)
        found = outcome if number <= decided or number > 3 + decided else Outcome.INVALID
        return Sample(found, 25_000, 0 if found == Outcome.PASS else 40)

    found = MlrSearch(5000, 60_000, 0.2, trials=5, exceed_ratio=0.5).run(measure)
    # The next rates, each a fifth higher, failed.
    assert found.lower_bound == (5000 if passes else None)
    assert found.upper_bound is not None
    assert (5000 < found.upper_bound <= 6250) if passes else found.upper_bound == 5000


OUTCOMES = st.sampled_from([*Outcome])


@settings(max_examples=500)
@given(
    outcomes=st.lists(OUTCOMES, max_size=40),
    last=OUTCOMES,
    highest=st.sampled_from([1001.0, 2000.0, 1e6]),
    durations=st.sampled_from([STRICT, FAST, None]),
    trials=st.integers(1, 5),
    exceed_ratio=st.sampled_from([0.0, 0.5]),
    ceiling=st.none() | st.sampled_from([500.0, 1000.0, 1500.0]),
    lost=st.integers(0, 1000),
)
def test_any_order_of_outcomes_ends_in_a_result_or_in_a_reason(
    outcomes: list[Outcome], last: Outcome, highest: float, durations: TrialDurations | None, trials: int,
    exceed_ratio: float, ceiling: float | None, lost: int,
) -> None:  # fmt: skip
    """After those drawn, all attempts have the last outcome, so that each search ends."""
    drawn = iter(outcomes)

    def measure(attempt: Attempt) -> Sample:
        assert 1000 <= attempt.rate <= highest
        outcome = next(drawn, last)
        return Sample(outcome, 1000, 0 if outcome == Outcome.PASS else lost)

    search = MlrSearch(1000, highest, 0.1, durations, trials=trials, exceed_ratio=exceed_ratio, ceiling=ceiling)
    try:
        found = search.run(measure)
    except (TesterLimitReached, NeverPrepared, Contradicted):
        return
    assert found.lower_bound is not None or found.upper_bound is not None
    if found.lower_bound is not None and found.upper_bound is not None:
        assert found.lower_bound < found.upper_bound
