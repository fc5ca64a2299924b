# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.soak.flatness import STRETCHES, Course, Quantity, Trend, courses, slope

SAMPLES = 1000
MEMORY = Quantity("memory, MiB", "kib", 1024, bound_per_h=1.0)
CLOCK = Quantity("µs ahead", "kib", 1, bound_per_h=100.0, may_fall=False)


def course(kib_at: Callable[[int], float], quantity: Quantity = MEMORY, samples: int = SAMPLES) -> Course:
    """Returns the course of an hour in which the ports were opened again after every other sample."""
    found = [
        {"elapsed_s": 3600 * number / samples, "reopenings": number // 2, "kib": kib_at(number)}
        for number in range(samples)
    ]
    return next(courses(found, [quantity]))


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.integers(STRETCHES, 300),
)
def test_a_straight_line_has_its_slope(offset: float, gradient: float, samples: int) -> None:
    at = [float(number) for number in range(samples)]
    found = slope(at, [offset + gradient * each for each in at])
    assert found.value == pytest.approx(gradient, rel=1e-6, abs=1e-6)
    assert found.low - 1e-6 <= found.value <= found.high + 1e-6


def test_a_leak_at_each_reopening_drifts() -> None:
    leak = course(lambda number: 100_000 + 4 * (number // 2))
    assert leak.trend == Trend.DRIFTS
    assert leak.per_reopening.value * 1024 == pytest.approx(4, rel=0.01)
    assert leak.last - leak.first == pytest.approx(0.9 * 2000 / 1024, rel=0.01)


def test_what_is_kept_once_drifts_too() -> None:
    assert course(lambda number: 100_000 + 38_000 * (number > SAMPLES // 3)).trend == Trend.DRIFTS


def test_a_leak_within_the_bound_is_flat() -> None:
    assert course(lambda number: 100_000 + 0.1 * number).trend == Trend.FLAT


def test_what_comes_and_goes_is_flat() -> None:
    assert course(lambda number: 100_000 + 500 * (number % 7)).trend == Trend.FLAT


def test_noise_beyond_the_bound_is_undecided() -> None:
    noise = random.Random(1)
    wandering = course(lambda _: noise.gauss(100_000, 50_000))
    assert wandering.trend == Trend.UNDECIDED
    assert wandering.per_h.low < 0 < wandering.per_h.high


def test_memory_may_be_given_back_and_a_clock_may_not_fall_behind() -> None:
    def falling(number: int) -> float:
        return -10.0 * number

    assert course(falling).trend == Trend.FLAT
    assert course(falling, CLOCK).trend == Trend.DRIFTS
    assert course(lambda number: -0.05 * number, CLOCK).trend == Trend.FLAT


def test_without_a_bound_there_is_nothing_to_judge() -> None:
    assert course(float, Quantity("shown", "kib", 1)).trend is None


def test_a_short_soak_is_not_judged() -> None:
    with pytest.raises(ValueError, match="19 cycles after the warm-up are too few"):
        course(float, samples=STRETCHES - 1)
