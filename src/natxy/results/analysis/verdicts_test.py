# SPDX-License-Identifier: Apache-2.0
"""Tests the differences and verdicts of runs whose results are known, and the settings that differ between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from natxy.results.analysis.compare import Compared, Verdict, compare, differing, range_of_median
from natxy.results.bounded import Bound
from natxy.results.intervals import Interval
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.results.statistics import Headline, summarize_headlines
from tests.support.sample_runs import SampleRun, Sought, measured_latency, measured_rates

STEADY = [100e3] * 6


def rates(folder: Path, values: Sequence[float], bracket: float = 0.0, **over: Any) -> RunRecord:
    run = SampleRun(folder)
    measured_rates(run, "forward", values, bracket, **over)
    return RunReader(run.end()).run


def sought(folder: Path, truth: float | None, repeat: int = 3) -> RunRecord:
    """Returns a run of searches from 10 to 400 kfps."""
    run = SampleRun(folder)
    run.experiment("forward", Sought(truth), title="Forwarding", repeat=repeat)
    return RunReader(run.end()).run


def headline(*runs: RunRecord) -> Compared:
    """Returns the headline in the last of the runs."""
    return compare(runs).figures[0][-1]


@pytest.mark.parametrize(
    ("values", "difference", "percent", "interval", "verdict"),
    [
        ([100e3] * 6, 0, 0, (0, 0), Verdict.NONE_FOUND),
        ([90e3] * 6, -10e3, -10, (-10e3, -10e3), Verdict.DIFFERS),
        ([110e3] * 6, 10e3, 10, (10e3, 10e3), Verdict.DIFFERS),
        ([90e3] * 3 + [110e3] * 3, 0, 0, (-10e3, 10e3), Verdict.NONE_FOUND),
        ([120e3], 20e3, 20, None, Verdict.ONE_REPETITION),
    ],
)
def test_a_run_differs_when_the_interval_of_the_difference_excludes_0(
    tmp_path: Path,
    values: list[float],
    difference: float,
    percent: float,
    interval: tuple[float, float] | None,
    verdict: Verdict,
) -> None:
    found = headline(rates(tmp_path / "a", STEADY), rates(tmp_path / "b", values))
    assert (found.run, found.difference, found.difference_percent) == (1, difference, percent)
    assert found.verdict == verdict
    assert found.interval == (interval and Interval(*interval))
    assert found.interval_percent == (interval and Interval(*(end / 1000 for end in interval)))


def test_the_last_brackets_of_both_searches_widen_a_difference(tmp_path: Path) -> None:
    found = headline(rates(tmp_path / "a", STEADY, 2e3), rates(tmp_path / "b", STEADY, 3e3))
    assert found.interval == Interval(-2e3, 3e3)


def test_every_run_is_compared_with_the_first(tmp_path: Path) -> None:
    runs = [rates(tmp_path / str(rate), [rate] * 6) for rate in (100e3, 80e3, 90e3)]
    [(first, second, third)] = compare(runs).figures
    assert (first.difference, first.verdict, second.difference, third.difference) == (None, None, -20e3, -10e3)


def test_nothing_is_no_base_of_a_percentage(tmp_path: Path) -> None:
    runs = []
    for name, lost in (("a", (0, 0, 0)), ("b", (5, 6, 7))):
        run = SampleRun(tmp_path / name)
        measured_latency(run, "delay", 100e3, title="Delay", lost=lost)
        runs.append(RunReader(run.end()).run)
    figures = {group[1].figure.name: group[1] for group in compare(runs).figures}
    lost_forward = figures["lost_tagged_forward"]
    assert (lost_forward.difference, lost_forward.difference_percent, lost_forward.interval_percent) == (6, None, None)
    assert lost_forward.verdict == Verdict.DIFFERS


@pytest.mark.parametrize(
    ("first", "other", "bound", "verdict"),
    [
        # Passed at 400 kfps, or not even at 10 kfps.
        (231e3, None, Bound.AT_LEAST, Verdict.DIFFERS),
        (None, 231e3, Bound.AT_MOST, Verdict.DIFFERS),
        (None, None, None, Verdict.BOUND),
        (231e3, 1.0, Bound.EXACTLY, Verdict.DIFFERS),
        (1.0, 231e3, Bound.EXACTLY, Verdict.DIFFERS),
        (1.0, 1.0, Bound.EXACTLY, Verdict.BOUND),
    ],
)
def test_bounds_decide_only_what_lies_beyond_them(
    tmp_path: Path, first: float | None, other: float | None, bound: Bound | None, verdict: Verdict
) -> None:
    found = headline(sought(tmp_path / "a", first), sought(tmp_path / "b", other))
    assert found.verdict == verdict
    assert found.interval is None
    # Two bounds that contradict each other leave no difference.
    assert (found.difference is None) == (bound is None)
    assert found.bound == (bound or Bound.EXACTLY)


def test_results_of_different_traffic_have_a_difference_but_no_verdict(tmp_path: Path) -> None:
    found = headline(rates(tmp_path / "a", STEADY), rates(tmp_path / "b", [90e3] * 6, frame_size=128))
    assert (found.verdict, found.unlike, found.difference) == (Verdict.UNLIKE, ("frame_size",), -10e3)


def test_a_share_of_the_baseline_is_compared_when_all_runs_have_one(tmp_path: Path) -> None:
    runs = []
    for name, share in (("a", 0.5), ("b", 0.4)):
        run = SampleRun(tmp_path / name, in_blocks=True)
        measured_rates(run, "base", [80e3, 100e3, 90e3])
        measured_rates(run, "nat", [share * rate for rate in (80e3, 100e3, 90e3)], baseline="base")
        runs.append(RunReader(run.end()).run)
    [share_of_baseline] = [group[1] for group in compare(runs).figures if group[1].figure.name == "baseline_ratio"]
    # Rates vary by a quarter, and their ratio by nothing.
    assert share_of_baseline.difference == pytest.approx(-10)
    assert share_of_baseline.verdict == Verdict.DIFFERS
    without = rates(tmp_path / "c", STEADY)
    assert [group[0].figure.name for group in compare([without, without]).figures] == ["rate"]


def test_another_procedure_is_another_experiment(tmp_path: Path) -> None:
    runs = []
    for name, procedure in (("a", "throughput"), ("b", "frame-loss-rate")):
        run = SampleRun(tmp_path / name)
        run.declare("x", title="X", procedure=procedure)
        runs.append(RunReader(run.end()).run)
    assert [(each.name, numbers) for each, numbers in compare(runs).unmatched] == [("x", (0, 1))]


def test_cells_are_the_same_whatever_their_names(tmp_path: Path) -> None:
    runs = []
    for name, cell in (("a", {"ttl": 1, "cores": 2}), ("b", {"cores": 2, "ttl": 1})):
        run = SampleRun(tmp_path / name)
        measured_rates(run, f"swept/{name}", STEADY, cell=cell)
        runs.append(RunReader(run.end()).run)
    found = compare(runs)
    assert (len(found.figures), found.unmatched) == (1, [])


def test_settings_that_differ_are_listed_but_not_names(tmp_path: Path) -> None:
    runs = [
        rates(tmp_path / "a", STEADY, expect={"at_least": 1}),
        rates(tmp_path / "b", STEADY, frame_size=128, variant={"kernel": "own"}),
    ]
    assert compare(runs).settings == {"forward": {"gateway.kernel": (None, "own"), "frame_size": ("64", "128")}}


def test_settings_are_written_as_in_a_plan() -> None:
    first = {"a": True, "b": 2.0, "c": 2.5, "d": [1, True], "e": {"f": 1, "same": 1}, "g": [{"h": 1.0, "i": False}]}
    other = {"a": False, "b": 1e6, "c": 1, "d": [], "e": {"f": 2, "same": 1}, "g": "x"}
    assert differing([first, other]) == {
        "a": ("true", "false"),
        "b": ("2", "1000000"),
        "c": ("2.5", "1"),
        "d": ("1, true", ""),
        "e.f": ("1", "2"),
        "g": ("{h: 1, i: false}", "x"),
    }
    assert differing([first, first]) == {}


@pytest.mark.parametrize(
    ("headlines", "low", "high"),
    [
        ([Headline(5.0)], None, None),
        ([Headline(5.0)] * 6, 5, 5),
        ([Headline(5.0, 5.0, 6.0)] * 6, 5, 6),
        ([Headline(5.0, 5.0, None)] * 6, 5, float("inf")),
        ([Headline(0.0, None, 2.0)] * 6, float("-inf"), 2),
    ],
)
def test_the_range_of_a_median_has_no_end_where_it_is_a_bound(
    headlines: list[Headline], low: float | None, high: float | None
) -> None:
    summary = summarize_headlines(headlines)
    assert summary is not None
    assert range_of_median(summary) == (None if low is None or high is None else Interval(low, high))
