# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy
import pytest

from natxy.results.analysis.repetitions import repetitions_needed
from natxy.results.intervals import median_interval, shift_interval


@pytest.mark.parametrize("margin", [0.2, 0.3, 0.5])
def test_as_many_repetitions_as_it_says_make_the_interval_that_narrow(margin: float) -> None:
    random = numpy.random.default_rng(1)
    few = [*(random.standard_normal(6) / numpy.std([1.0, -1.0]))]
    deviation = float(numpy.std(few, ddof=1))
    for groups in (1, 2):
        count = repetitions_needed(margin, *[few] * groups)
        assert count is not None
        widths = []
        for _ in range(50):
            drawn = [[*(deviation * random.standard_normal(count))] for _ in range(groups)]
            interval = median_interval(drawn[0]) if groups == 1 else shift_interval(drawn[0], drawn[1])
            assert interval is not None
            widths.append((interval.high - interval.low) / 2)
        assert numpy.mean(widths) == pytest.approx(margin, rel=0.2)


def test_there_are_always_more_than_before() -> None:
    assert repetitions_needed(1.0, [5.0, 5.0]) == 3
    assert repetitions_needed(1e9, [5.0, 6.0, 7.0], [5.0, 6.0]) == 4


def test_what_the_search_leaves_open_is_not_narrowed_by_repetitions() -> None:
    few = [95.0, 100.0, 104.0]
    without, exact = repetitions_needed(3.0, few), repetitions_needed(5.0, few, resolution=4.0)
    assert without is not None
    assert exact == without
    assert repetitions_needed(2.0, few, resolution=4.0) is None


def test_the_number_keeps_to_its_limits() -> None:
    assert repetitions_needed(1e9, [5.0, 6.0, 7.0], least=2) == 2
    assert repetitions_needed(1e9, [5.0, 6.0, 7.0], most=3) is None


def test_no_number_is_enough_for_no_margin() -> None:
    assert repetitions_needed(0.0, [5.0, 5.0]) is None
    assert repetitions_needed(-1.0, [5.0, 6.0]) is None
    assert repetitions_needed(1e-6, [5.0, 6.0]) is None
