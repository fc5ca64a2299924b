# SPDX-License-Identifier: Apache-2.0
"""Measures by seeded noise how often a comparison finds a shift, and how often it finds one where there is none.

What it says of single values, bounds and settings is checked exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest

from natxy.plan.model.terms import TRAFFIC_FIELDS
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import Figure
from natxy.results.analysis.compare import (
    Compared,
    Verdict,
    _difference,
    _verdict,
    compare,
    differing,
    range_of_median,
    shares_of_baseline,
)
from natxy.results.bounded import Bound, Bounded
from natxy.results.intervals import Interval
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Headline, Summary, summarize_bounded, summarize_headlines
from tests.support.sample_runs import SampleRun, measured_rates

RATE = 200e3
# The standard deviation of repetitions of a search that short trials decide, on a shared machine with two cores.
NOISE = 0.02
COMPARISONS = 40


def measured(folder: Path, random: numpy.random.Generator, truth: float, repeat: int, bracket: float) -> RunRecord:
    """Returns a run whose searches end with brackets around noisy truths; `bracket` is their width, a share of them."""
    sample = SampleRun(folder)
    noisy = truth * (1 + NOISE * random.standard_normal(repeat))
    width = truth * bracket
    measured_rates(sample, "forward", [*(noisy - width * random.uniform(size=repeat))], width)
    return RunReader(sample.end()).run


def flagged(runs: Sequence[RunRecord]) -> bool:
    [(_, other)] = compare(runs).figures
    return other.verdict == Verdict.DIFFERS


@pytest.mark.parametrize(("repeat", "bracket"), [(15, 0.01), (30, 0.02)])
def test_a_shift_of_3_percent_is_found_in_9_of_10_and_none_in_19_of_20(
    tmp_path: Path, repeat: int, bracket: float
) -> None:
    random = numpy.random.default_rng(1)
    found = {0.0: 0, 0.03: 0}
    for shift in found:
        for number in range(COMPARISONS):
            folder = tmp_path / f"{shift}-{number}"
            pair = [
                measured(folder / name, random, truth, repeat, bracket)
                for name, truth in (("a", RATE), ("b", RATE * (1 - shift)))
            ]
            found[shift] += flagged(pair)
    assert found[0.03] / COMPARISONS >= 0.9
    assert found[0.0] / COMPARISONS <= 0.05


def test_experiments_that_not_all_runs_have_are_unmatched(tmp_path: Path) -> None:
    runs = []
    for folder, names in (("a", ["both", "first"]), ("b", ["both", "second"])):
        sample = SampleRun(tmp_path / folder)
        for name in names:
            measured_rates(sample, name, [100e3, 100e3], 1e3)
        runs.append(RunReader(sample.end()).run)
    found = compare(runs)
    assert [(each.name, numbers) for each, numbers in found.unmatched] == [("first", (0,)), ("second", (1,))]
    assert [[(each.experiment.name, each.run) for each in group] for group in found.figures] == [
        [("both", 0), ("both", 1)]
    ]


def test_a_rate_cannot_fall_by_more_than_all_of_it(tmp_path: Path) -> None:
    runs = []
    for name, rates in (("a", [100e3, 300e3]), ("b", [50e3, 400e3])):
        sample = SampleRun(tmp_path / name)
        measured_rates(sample, "forward", rates, 1e3)
        runs.append(RunReader(sample.end()).run)
    [(_, other)] = compare(runs).figures
    assert other.interval_percent is not None
    assert other.interval_percent.low == -100
    assert other.interval_percent.high > 100


NOTHING = Headline(0, None, 10)
REACHED = Headline(600, 600, None)


def summary(*headlines: Headline) -> Summary:
    found = summarize_headlines(headlines)
    assert found is not None
    return found


def exactly(*values: float) -> Summary:
    return summary(*(Headline(value) for value in values))


def compared(of: Summary | None, *, signed: bool = False, **traffic: str) -> Compared:
    planned = SimpleNamespace(**dict.fromkeys(TRAFFIC_FIELDS, "same") | traffic)
    figure = Figure("delay", "Delay", Unit.NS, signed=signed)
    return Compared(figure, cast("ExperimentRecord", SimpleNamespace(planned=planned)), 0, of)


def test_a_difference_is_in_the_unit_and_in_percent_of_the_first() -> None:
    found = _difference(compared(exactly(*[200.0] * 6)), compared(exactly(*[150.0] * 6)))
    assert (found.difference, found.difference_percent, found.bound) == (-50, -25, Bound.EXACTLY)
    assert (found.interval, found.interval_percent) == (Interval(-50, -50), Interval(-25, -25))
    assert (found.verdict, found.unlike) == (Verdict.DIFFERS, ())
    negative = _difference(compared(exactly(*[-200.0] * 6), signed=True), compared(exactly(*[-300.0] * 6)))
    assert (negative.difference_percent, negative.interval_percent) == (-50, Interval(-50, -50))
    from_zero = _difference(compared(exactly(*[0.0] * 6)), compared(exactly(*[5.0] * 6)))
    assert (from_zero.difference, from_zero.difference_percent, from_zero.interval_percent) == (5, None, None)
    assert from_zero.interval == Interval(5, 5)


def test_only_a_figure_with_a_sign_can_fall_by_more_than_itself() -> None:
    first, other = exactly(10, 30), exactly(5, 40)
    for signed in (False, True):
        found = _difference(compared(first, signed=signed), compared(other, signed=signed)).interval
        assert found is not None
        assert (found.low < -20) == signed


def test_a_missing_result_has_no_difference() -> None:
    for first, other in ((None, exactly(1, 2)), (exactly(1, 2), None)):
        found = _difference(compared(first), compared(other))
        assert (found.difference, found.verdict) == (None, None)


def test_different_traffic_is_not_compared() -> None:
    found = _difference(compared(exactly(1, 2)), compared(exactly(5, 6), family="ipv6", frame_size="128"))
    assert (found.verdict, {*found.unlike}) == (Verdict.UNLIKE, {"family", "frame_size"})


def test_a_difference_of_bounds_is_one_unless_they_contradict() -> None:
    exact = exactly(*[500.0] * 2)
    reached, nothing = summary(REACHED, REACHED), summary(NOTHING, NOTHING)
    assert _difference(compared(exact), compared(reached)).bound == Bound.AT_LEAST
    assert _difference(compared(reached), compared(exact)).bound == Bound.AT_MOST
    assert _difference(compared(reached), compared(exact)).interval is None
    assert _difference(compared(exact), compared(reached)).interval is None
    assert _difference(compared(exact), compared(nothing)).bound == Bound.EXACTLY
    contradicting = _difference(compared(reached), compared(reached))
    assert (contradicting.verdict, contradicting.difference) == (Verdict.BOUND, None)


def test_the_range_of_a_median_is_open_where_it_is_a_bound() -> None:
    assert range_of_median(summary(REACHED)) == Interval(600, math.inf)
    assert range_of_median(summary(NOTHING)) == Interval(-math.inf, 10)
    at_most = summarize_bounded([Bounded(3, Bound.AT_MOST)])
    assert at_most is not None
    assert range_of_median(at_most) == Interval(-math.inf, 3)
    assert range_of_median(exactly(5)) is None
    assert range_of_median(exactly(*[5.0] * 6)) == Interval(5, 5)


@pytest.mark.parametrize(
    ("first", "other", "interval", "verdict"),
    [
        (exactly(1), exactly(2, 3), None, Verdict.ONE_REPETITION),
        (exactly(1, 2), exactly(3), Interval(1, 2), Verdict.ONE_REPETITION),
        (exactly(1, 2), exactly(2, 3), Interval(1, 2), Verdict.DIFFERS),
        (exactly(1, 2), exactly(2, 3), Interval(-2, -1), Verdict.DIFFERS),
        (exactly(1, 2), exactly(2, 3), Interval(0, 2), Verdict.NONE_FOUND),
        (summary(REACHED, REACHED), summary(NOTHING, NOTHING), None, Verdict.DIFFERS),
        (summary(NOTHING, NOTHING), summary(REACHED, REACHED), None, Verdict.DIFFERS),
        (summary(REACHED, REACHED), exactly(*[600.0] * 6), None, Verdict.BOUND),
        (exactly(*[600.0] * 6), summary(REACHED, REACHED), None, Verdict.BOUND),
        (summary(REACHED, REACHED), exactly(*[599.0] * 6), None, Verdict.DIFFERS),
        (summary(REACHED, REACHED), summary(REACHED, REACHED), None, Verdict.BOUND),
    ],
)
def test_a_verdict_needs_two_repetitions_and_ranges_that_lie_apart(
    first: Summary, other: Summary, interval: Interval | None, verdict: Verdict
) -> None:
    assert _verdict(first, other, interval) == verdict


def test_settings_that_differ_are_named_by_their_paths_and_written_as_in_a_plan() -> None:
    first: dict[str, Any] = {
        "same": {"x": 1},
        "timing": {"trial": 60.0, "settle": 0.5, "fast": True},
        "steps": [1, {"rate": 2.0, "on": False}],
        "gone": "x",
    }
    other = first | {"timing": {"trial": 1.0, "settle": 1.5, "fast": False}, "steps": [2], "new": 7}
    del other["gone"]
    assert differing([first, other]) == {
        "timing.trial": ("60", "1"),
        "timing.settle": ("0.5", "1.5"),
        "timing.fast": ("true", "false"),
        "steps": ("1, {rate: 2, on: false}", "2"),
        "gone": ("x", None),
        "new": (None, "7"),
    }
    assert differing([first, first]) == {}


def test_runs_are_compared_by_name_and_procedure(tmp_path: Path) -> None:
    runs = []
    others: dict[str, Any] = {"a": {}, "b": {"frame_size": 128, "expect": {"at_least": 1}}}
    for folder, settings in others.items():
        sample = SampleRun(tmp_path / folder)
        measured_rates(sample, "base", [100.0, 100.0])
        measured_rates(sample, "own", [50.0, 50.0], baseline="base", **settings)
        measured_rates(sample, "each", [1.0], procedure="frame-loss-rate" if settings else "throughput")
        runs.append(RunReader(sample.end()).run)
    found = compare(runs)
    assert [(each.name, numbers) for each, numbers in found.unmatched] == [("each", (0, 1))]
    assert found.settings == {"own": {"frame_size": ("64", "128")}}
    names = [(first.experiment.name, first.figure.name) for first, _ in found.figures]
    assert names == [("base", "rate"), ("own", "rate"), ("own", "baseline_ratio")]
    base, own, _ = runs[0].experiments
    share = shares_of_baseline(own)
    assert share is not None
    assert share.median == 50
    assert shares_of_baseline(base) is None
