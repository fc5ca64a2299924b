# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.results.analysis.ratios import Ratio
from natxy.results.bounded import Bound, Bounded
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord, State
from natxy.results.trials import TransferRecord
from tests.support.sample_runs import SampleRun, measured_rates, quickstart


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunReader(quickstart(tmp_path_factory.mktemp("run"))).run


def measured(folder: Path, rates: list[float], bracket: float = 0.0) -> ExperimentRecord:
    run = SampleRun(folder)
    measured_rates(run, "x", rates, bracket)
    return RunReader(run.end()).run.experiments[0]


@pytest.mark.parametrize(
    ("rates", "bracket", "spread"),
    [([100e3], 5e3, None), ([100e3, 110e3, 90e3], 5e3, 20e3), ([100e3, 110e3, 90e3], 50e3, 50e3), ([7.0, 7.0], 0, 0)],
)
def test_the_spread_is_that_of_the_repetitions_or_the_widest_bracket(
    tmp_path: Path, rates: list[float], bracket: float, spread: float | None
) -> None:
    assert measured(tmp_path, rates, bracket).spread == spread


def test_only_repetitions_that_are_done_count(tmp_path: Path) -> None:
    whole = measured(tmp_path, [100e3, 110e3, 90e3], 5e3)
    first, second, third = whole.repetitions
    cut_short = replace(second, state=State.INTERRUPTED, upper_bound=900e3)
    without_value = replace(third, state=State.NO_RESULT, value=None)
    found = replace(whole, repetitions=[first, cut_short, without_value, replace(third, number=4)])
    assert found.values == [100e3, 90e3]
    assert [*found.headlines] == [1, 4]
    assert found.spread == 10e3
    assert found.figure_statistics["rate"].count == 3  # of those that were measured to the end


def test_an_experiment_is_as_fast_as_itself(tmp_path: Path) -> None:
    alone = measured(tmp_path, [100e3, 110e3, 90e3], 5e3)
    assert alone.ratio_to(alone) == Ratio(1.0)
    nothing = replace(alone, repetitions=[])
    assert nothing.ratio_to(nothing) is None
    zero = replace(alone, repetitions=[replace(alone.repetitions[0], value=0.0)])
    assert zero.ratio_to(zero) is None


def test_ratio_and_precision_in_blocks_are_those_within_each(tmp_path: Path) -> None:
    """The experiment is twice as fast as its baseline in every block, while both drift."""
    run = SampleRun(tmp_path)
    measured_rates(run, "base", [100e3, 200e3, 400e3, 100e3])
    measured_rates(run, "own", [200e3, 400e3, 800e3, 200e3])
    base, own = RunReader(run.end()).run.experiments
    assert not own.in_blocks
    alone = own.precision
    assert alone
    in_blocks = replace(own, baseline=base, in_blocks=True)
    assert in_blocks.baseline_ratio
    assert (in_blocks.baseline_ratio.value, in_blocks.baseline_ratio.paired) == (2, True)
    assert in_blocks.baseline_ratio_percent == 200
    assert in_blocks.precision == 0
    one_after_the_other = replace(own, baseline=base, in_blocks=False)
    assert one_after_the_other.baseline_ratio
    assert not one_after_the_other.baseline_ratio.paired
    assert one_after_the_other.precision == replace(own, in_blocks=True).precision == alone


def test_a_search_whose_maximum_passed_is_a_lower_bound(quick: RunRecord) -> None:
    bounds = {experiment.name: experiment.is_only_a_lower_bound for experiment in quick.experiments}
    assert [name for name, at_least in bounds.items() if at_least] == ["fast"]


def test_the_ratio_to_the_baseline_is_in_percent(quick: RunRecord) -> None:
    forward, *_, nat, _, limited = quick.experiments
    assert (forward.baseline, forward.baseline_ratio, forward.baseline_ratio_percent) == (None, None, None)
    assert nat.baseline
    assert nat.baseline.name == "forward"
    assert nat.baseline_ratio_percent == pytest.approx(100 * 150_000 / 228_000, rel=0.02)
    assert limited.baseline
    assert limited.baseline_ratio_percent is None


def test_the_trials_of_a_step_are_those_of_one_attempt(quick: RunRecord) -> None:
    steps = quick.experiments[0].repetitions[0].steps
    assert [(step.number, step.attempt) for step in steps][2:6] == [(3, 1), (4, 1), (4, 2), (5, 1)]
    assert {len(step.trials) for step in steps} == {1}
    # Phase 1 and the measurement of a NAT.
    assert {len(step.trials) for step in quick.experiments[3].repetitions[0].steps} == {2}


@pytest.mark.parametrize(
    ("burst_at_least", "rate_at_least", "bound"),
    [
        (False, False, Bound.EXACTLY),
        (True, False, Bound.AT_LEAST),
        (False, True, Bound.AT_MOST),
        (True, True, None),  # the two contradict
    ],
)
def test_a_figure_has_the_bounds_of_what_it_is_calculated_from(
    tmp_path: Path, *, burst_at_least: bool, rate_at_least: bool, bound: Bound | None
) -> None:
    run = SampleRun(tmp_path)
    source = run.declare("source", title="Throughput")
    row = run.store.start_repetition(source, 1)
    failed = None if rate_at_least else 401e3
    run.store.finish_repetition(row, State.DONE, value=400e3, lower_bound=400e3, upper_bound=failed)
    rate = {"experiment": "source", "percent": 100}
    burst = run.declare("burst", title="Burst", procedure="back-to-back", search=None, rate=rate)
    row = run.store.start_repetition(burst, 1)
    failed = None if burst_at_least else 1001.0
    run.store.finish_repetition(
        row, State.DONE, value=1000, figures={"corrected_buffer": 0.01}, lower_bound=1000, upper_bound=failed
    )
    experiment = RunReader(run.end()).run.experiments[1]
    assert experiment.rate_sources["rate"].name == "source"
    summary = experiment.figure_statistics.get("corrected_buffer")
    assert (summary and summary.bounded_median) == (Bounded(0.01, bound) if bound is not None else None)
    for figure in experiment.declaration.figures:
        of_headline = figure == experiment.declaration.headline()
        expected = experiment.statistics if of_headline else experiment.figure_statistics.get(figure.name)
        assert experiment.summary_of(figure) is expected


def test_a_test_between_hosts_has_a_transfer_for_each_direction(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    row = run.store.start_repetition(run.declare("tcp", title="TCP", procedure="tcp-goodput", search=None), 1)
    for test in (1, 2, 3):
        for direction in ("forward", "reverse"):
            run.store.add_transfer(row, TransferRecord(test, direction, "2026-01-01T12:00:00+00:00", 1.0, 1e9, 0))
    assert RunReader(run.end()).run.host_test_count == 3


@pytest.mark.parametrize("plan", ["- a list", "name: [", "published: no list"])
def test_a_stored_plan_that_is_none_is_an_error(quick: RunRecord, plan: str) -> None:
    assert quick.plan["name"] == "quickstart"
    with pytest.raises(PlanError, match=r"has no readable plan: run\.plan_yaml"):
        _ = replace(quick, plan_yaml=plan).plan
