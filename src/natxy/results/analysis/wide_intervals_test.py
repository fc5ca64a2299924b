# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.results import Verdict
from natxy.results.analysis.core_speed import highest_speeds
from natxy.results.analysis.core_speed_test import at_speeds
from natxy.results.analysis.disturbances import counts
from natxy.results.analysis.wide_intervals import (
    MOST_REPETITIONS,
    WIDE,
    Disturbed,
    Drift,
    Few,
    Resolution,
    Slowed,
    TwoLevels,
    Unexplained,
    WideInterval,
    wide_interval,
    wide_intervals,
)
from natxy.results.intervals import median_interval
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialRecord
from natxy.system.core_watch import Absence
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun, result, trial

QUIET = trial(result(1e5, Verdict.PASS))
INVALID = trial(result(1e5, Verdict.INVALID))
DISTURBED = replace(trial(result(1e5, Verdict.FAIL)), verdict=Verdict.DISTURBED)
MARKED = trial(result(1e5, Verdict.FAIL), disturbance="the core was away")
AWAY = trial(result(1e5, Verdict.FAIL), absence=Absence(0.3))
# Neither levels nor a trend.
VARYING = [300e3, 250e3, 350e3, 270e3, 330e3, 310e3, 290e3, 260e3]


def explained(record: ExperimentRecord) -> WideInterval | None:
    """Returns the wide interval of an experiment that is the only one of its run."""
    return wide_interval(record, highest_speeds(placed.trial for placed in record.all_trials))


def found(record: ExperimentRecord) -> WideInterval:
    wide = explained(record)
    assert wide is not None
    return wide


def paused(longest_s: float, all_s: float = 0.0) -> TrialRecord:
    """Returns a trial that passed although the tester's core paused; `all_s` is the sum of the pauses above 1 ms."""
    passed = result(1e5, Verdict.PASS)
    pacing = passed.streams[0].pacing.model_copy(
        update={"max_pause_ns": round(longest_s * 1e9), "pauses_ns": round(all_s * 1e9)}
    )
    streams = [passed.streams[0].model_copy(update={"pacing": pacing})]
    return trial(passed.model_copy(update={"streams": streams}))


def test_a_narrow_interval_needs_no_explanation() -> None:
    assert explained(experiment([300e3, 301e3, 299e3])) is None


def test_a_core_that_was_slow_in_many_trials_is_named() -> None:
    trials = {number: [at_speeds((1, 0.5e6, 1e6)), at_speeds((1, 0.95e6, 1e6))] for number in range(1, 9)}
    cause = found(experiment(VARYING, trials=trials)).cause
    assert isinstance(cause, Slowed)
    assert (cause.speed.slowed_trials, cause.speed.trials) == (8, 16)
    steady = {number: [at_speeds((1, 0.95e6, 1e6))] for number in range(1, 9)}
    assert found(experiment(VARYING, trials=steady)).cause == Unexplained()


def test_a_core_is_slow_compared_with_its_highest_speed_in_the_run(tmp_path: Path) -> None:
    fast = experiment([300e3] * 8, trials={1: [at_speeds((1, 1e6, 1e6))]})
    slow = experiment(VARYING, trials={number: [at_speeds((1, 0.5e6, 0.5e6))] for number in range(1, 9)})
    run = RunReader(SampleRun(tmp_path).end()).run
    [wide] = wide_intervals(replace(run, experiments=[fast, slow]))
    assert isinstance(wide.cause, Slowed)
    assert wide.cause.speed.mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    "record",
    [
        experiment([]),
        experiment([300e3]),
        experiment([0.0, 0.0, 0.0]),
        experiment([-1.0, 3.0, 5.0], procedure={"name": "overload", "flows": 10_000}),
    ],
    ids=["no result", "one", "zero", "a figure that may be negative"],
)
def test_without_an_interval_or_a_share_there_is_nothing_to_explain(record: ExperimentRecord) -> None:
    assert explained(record) is None


def test_equal_results_on_a_coarse_grid_are_the_searchs_doing() -> None:
    wide = found(experiment([100e3] * 5, bracket=12e3))
    assert wide.cause == Resolution(0.12)
    assert wide.half == pytest.approx(0.06)
    assert wide.repetitions_needed is None


@pytest.mark.parametrize("share", [0.1, 0.4, 0.49, 0.51, 0.7])
def test_a_bracket_is_the_cause_if_it_is_half_of_the_interval(share: float) -> None:
    without = median_interval(VARYING, 0.0)
    assert without is not None
    # The interval reaches up by the bracket.
    bracket = share / (1 - share) * (without.high - without.low)
    wide = found(experiment(VARYING, bracket=bracket))
    assert isinstance(wide.cause, Resolution) == (share >= 0.5)


@pytest.mark.parametrize(
    ("disturbed", "kind"),
    [
        pytest.param(INVALID, "invalid", id="invalid"),
        pytest.param(DISTURBED, "disturbed", id="disturbed"),
        pytest.param(MARKED, "marked", id="marked"),
        pytest.param(AWAY, "paused", id="gateway away"),
        pytest.param(paused(0.004), "paused", id="tester paused"),
        pytest.param(paused(0.0015, 0.0045), "paused", id="tester paused three times"),
    ],
)
def test_many_disturbed_trials_are_the_machines_doing(disturbed: TrialRecord, kind: str) -> None:
    trials = {2: [QUIET] * 7 + [disturbed], 4: [QUIET] * 6 + [disturbed] * 2}
    assert found(experiment(VARYING, trials=trials)).cause == Disturbed(replace(counts([QUIET] * 16), **{kind: 3}), 2)


def test_few_disturbed_trials_count_only_if_the_quiet_repetitions_agree() -> None:
    one = {number: [QUIET] * 20 for number in range(1, 7)} | {3: [QUIET] * 20 + [INVALID]}
    assert found(experiment([300e3, 302e3, 180e3, 301e3, 299e3, 300e3], trials=one)).cause == Disturbed(
        replace(counts([QUIET] * 121), invalid=1), 1
    )
    assert found(experiment(VARYING[:6], trials=one)).cause == Unexplained()


def test_short_pauses_disturb_nothing() -> None:
    short = [paused(0.0015), trial(result(1e5, Verdict.FAIL), absence=Absence(0.1))]
    trials = dict.fromkeys(range(1, 9), short * 5)
    assert found(experiment(VARYING, trials=trials)).cause == Unexplained()


def test_two_levels_are_told_apart() -> None:
    wide = found(experiment([287e3, 512e3, 290e3, 508e3, 510e3, 289e3]))
    assert wide.cause == TwoLevels(289e3, 3, 510e3, 3, since=None)


def test_a_level_that_changes_once_says_when() -> None:
    cause = found(experiment([510e3, 508e3, 512e3, 511e3, 289e3, 290e3])).cause
    assert isinstance(cause, TwoLevels)
    assert cause.since == 5


def test_one_outlier_is_no_level() -> None:
    assert not isinstance(found(experiment([300e3, 301e3, 299e3, 300e3, 302e3, 600e3])).cause, TwoLevels)


@pytest.mark.parametrize("step", [20e3, -20e3])
def test_a_trend_is_a_drift(step: float) -> None:
    cause = found(experiment([300e3 + step * number + noise for number, noise in enumerate([0, 3e3] * 3)])).cause
    assert isinstance(cause, Drift)
    assert (cause.change > 0) == (step > 0)
    assert abs(cause.change) == pytest.approx(0.27, abs=0.06)


@pytest.mark.parametrize(("count", "cause"), [(4, Few), (5, Drift), (6, Drift)])
def test_a_trend_of_four_may_be_chance(count: int, cause: type) -> None:
    assert isinstance(found(experiment([300e3 + 20e3 * number for number in range(count)])).cause, cause)


def test_a_drift_is_that_of_the_outer_thirds() -> None:
    values = [100e3, 110e3, 120e3, 131e3, 138e3, 150e3, 163e3, 170e3, 180e3]
    cause = found(experiment(values)).cause
    assert isinstance(cause, Drift)
    assert cause.change == pytest.approx((170 - 110) / 138)


@pytest.mark.parametrize(("upper", "levels"), [(167.5e3, True), (165.5e3, False)])
def test_levels_are_two_thirds_of_the_range_apart(upper: float, levels: bool) -> None:
    wide = found(experiment([200e3, 100e3, upper, 100e3, 200e3, 100e3]))
    assert isinstance(wide.cause, TwoLevels) == levels


def test_five_results_have_no_levels() -> None:
    assert found(experiment([512e3, 287e3, 508e3, 290e3, 510e3])).cause == Few(5)


def test_what_few_repetitions_would_need_is_estimated() -> None:
    wide = found(experiment([300e3, 290e3, 312e3]))
    assert wide.cause == Few(3)
    assert wide.repetitions_needed == 5


def test_what_varies_too_much_has_no_recommendation() -> None:
    wide = found(experiment([33e3, 203e3, 188e3]))
    assert (wide.cause, wide.repetitions_needed) == (Few(3), None)


@pytest.mark.parametrize("count", [6, 8, 12, 20])
def test_chance_is_seldom_taken_for_levels_or_a_drift(count: int) -> None:
    rng = random.Random(count)
    causes = [_cause(experiment([rng.gauss(100, 30) for _ in range(count)])) for _ in range(200)]
    assert sum(isinstance(cause, TwoLevels) for cause in causes) <= 0.05 * len(causes)
    assert sum(isinstance(cause, Drift) for cause in causes) <= 0.1 * len(causes)


def _cause(record: ExperimentRecord) -> Any:
    wide = explained(record)
    return wide and wide.cause


@given(st.lists(st.floats(min_value=50, max_value=150), min_size=2, max_size=12), st.floats(min_value=0, max_value=20))
def test_every_wide_interval_has_a_cause_and_a_number_of_repetitions_that_helps(
    values: list[float], bracket: float
) -> None:
    wide = explained(experiment(values, bracket=bracket))
    interval = median_interval(values, bracket)
    assert interval is not None
    median = statistics.median(values)
    if wide is None:
        assert (interval.high - interval.low) / 2 / median <= WIDE + 0.0005
    else:
        assert wide.cause is not None
        assert wide.repetitions_needed is None or len(values) < wide.repetitions_needed <= MOST_REPETITIONS
