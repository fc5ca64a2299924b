# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.analysis.trend import chance_of_trend


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=33, unique=True))
def test_the_chance_is_that_of_kendalls_tau(values: list[float]) -> None:
    exact = scipy.stats.kendalltau(range(len(values)), values, method="exact").pvalue
    assert chance_of_trend(values) == pytest.approx(exact, rel=1e-9)


def test_of_many_values_it_is_nearly_that() -> None:
    values = [number / 100 + random.Random(number).random() for number in range(60)]
    asymptotic = scipy.stats.kendalltau(range(len(values)), values, method="asymptotic").pvalue
    assert chance_of_trend(values) == pytest.approx(asymptotic, rel=0.1)


@given(st.lists(st.integers(0, 3), min_size=6, max_size=40).filter(lambda values: len({*values}) > 1))
def test_of_equal_values_it_is_never_below_that(values: list[float]) -> None:
    asymptotic = scipy.stats.kendalltau(range(len(values)), values, method="asymptotic").pvalue
    exact_if_all_differ = scipy.stats.kendalltau(range(len(values)), values).pvalue
    assert chance_of_trend(values) >= min(asymptotic, exact_if_all_differ) - 1e-9


def test_equal_values_are_no_trend() -> None:
    assert chance_of_trend([3, 3, 3, 3]) == 1.0
    assert chance_of_trend([1, 2, 2, 3, 3]) > chance_of_trend([1, 2, 3, 4, 5])
