# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from natxy.history.levels import Division, Measured, divide


def measured(truths: Sequence[float], *, noise: float, seed: int = 1, resolution: float = 0.0) -> list[Measured]:
    """Returns runs of three repetitions, each run with its own deviation of `noise`."""
    chance = random.Random(seed)
    runs = []
    for truth in truths:
        own = chance.gauss(truth, noise * truth)
        values = tuple(chance.gauss(own, noise * truth / 2) for _ in range(3))
        runs.append(Measured(statistics.median(values), values, resolution))
    return runs


def counts(found: Division) -> list[int]:
    return [level.count for level in found.levels]


@pytest.mark.parametrize("count", [40, 400])
def test_a_shift_is_found_where_it_is_and_as_large_as_it_is(count: int) -> None:
    half = count // 2
    found = divide(measured([200e3] * half + [210e3] * half, noise=0.01))
    assert counts(found) == [half, half]
    assert found.outliers == ()
    shift = found.levels[1]
    assert shift.shift_percent == pytest.approx(5, abs=1)
    assert shift.interval_percent is not None
    assert 5 in shift.interval_percent
    assert 0 not in shift.interval_percent


def test_noise_has_one_level() -> None:
    false = [len(divide(measured([200e3] * 60, noise=0.03, seed=seed)).levels) - 1 for seed in range(40)]
    assert sum(false) <= 2


def test_a_single_run_is_an_exception_within_its_level() -> None:
    found = divide(measured([200e3] * 20 + [170e3] + [200e3] * 20, noise=0.005))
    assert counts(found) == [41]
    (outlier,) = found.outliers
    assert (outlier.first, outlier.count) == (20, 1)
    assert outlier.shift_percent == pytest.approx(-15, abs=2)


def test_the_newest_run_is_a_level_of_its_own() -> None:
    found = divide(measured([200e3] * 30 + [150e3], noise=0.005))
    assert counts(found) == [30, 1]
    assert found.outliers == ()


def test_a_shift_within_the_bracket_of_the_searches_is_no_shift() -> None:
    equal = [Measured(value, (value,) * 3, 4000.0) for value in [200e3] * 20 + [203e3] * 20]
    assert counts(divide(equal)) == [40]
    exact = [Measured(value, (value,) * 3, 1000.0) for value in [200e3] * 20 + [203e3] * 20]
    assert counts(divide(exact)) == [20, 20]


def test_what_cannot_be_divided_has_one_level() -> None:
    assert divide([]) == Division((), ())
    assert counts(divide(measured([-5.0, -5.0, 5.0, 5.0], noise=0))) == [4]
    assert counts(divide(measured([0.0] * 4, noise=0))) == [4]


@example([0.0, 5e-324])
@example([5e-324, 5e-324, 1.0, 1.0])
@given(st.lists(st.floats(0, 1e9), max_size=130))
def test_levels_are_consecutive_and_hold_every_run(medians: list[float]) -> None:
    found = divide([Measured(median, (median,), 0.0) for median in medians])
    assert sum(counts(found)) == len(medians)
    ends = [level.first + level.count for level in found.levels]
    assert [level.first for level in found.levels][1:] == ends[:-1]
    for outlier in found.outliers:
        assert any(level.first < outlier.first < level.first + level.count for level in found.levels)


def test_two_runs_of_a_single_repetition_differ_in_nothing_that_is_known() -> None:
    runs = [Measured(median, (median,), 0.0) for median in (100e3, 160e3)]
    assert counts(divide(runs)) == [2]
