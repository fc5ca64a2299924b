# SPDX-License-Identifier: Apache-2.0
"""Measures by seeded noise how often a comparison finds a shift, and how often it finds one where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from natxy.results.analysis.compare import Verdict, compare
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
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
