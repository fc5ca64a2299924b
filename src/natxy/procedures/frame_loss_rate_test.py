# SPDX-License-Identifier: Apache-2.0
"""Tests where a series of offered rates ends (RFC 2544 §26.3), in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.units import Unit
from natxy.procedures.common.traffic_test import loss, measure
from natxy.results.records import RepetitionRecord

MAXIMUM = 100_000


def measured(forwarding_share: float, **own: Any) -> RepetitionRecord:
    """Measures a gateway that forwards this share of the maximum rate in each direction."""
    run = measure(loss(MAXIMUM) | own, forwarding_fps=2 * MAXIMUM * forwarding_share)
    return run.experiments[0].repetitions[0]


@pytest.mark.parametrize(
    ("forwarding_share", "percents", "lossless", "lossy"),
    [
        (1.0, [100, 90], 100, None),
        (0.95, [100, 90, 80], 90, 100),
        (0.5, [100, 90, 80, 70, 60, 50, 40], 50, 60),
        (0.25, [100, 90, 80, 70, 60, 50, 40, 30, 20, 10], 20, 30),
    ],
)
def test_the_rate_falls_until_two_steps_in_a_row_lose_nothing(
    forwarding_share: float, percents: list[float], lossless: float, lossy: float | None
) -> None:
    found = measured(forwarding_share)
    assert [step.number for step in found.steps] == [*range(1, len(percents) + 1)]
    assert [point[0] for point in found.curves[0].points] == percents
    assert found.value == pytest.approx(MAXIMUM * lossless / 100)
    assert found.lower_bound == found.value
    assert found.upper_bound == (lossy and pytest.approx(MAXIMUM * lossy / 100))
    assert found.reason == ""


@pytest.mark.parametrize(("forwarding_share", "lossless"), [(0.15, 10), (0.05, None)])
def test_without_two_lossless_steps_it_is_said(forwarding_share: float, lossless: float | None) -> None:
    found = measured(forwarding_share)
    assert found.value == (MAXIMUM * lossless / 100 if lossless else 0)
    assert found.lower_bound == (found.value or None)
    assert found.reason.startswith("no two steps in a row lost nothing, down to the lowest: ")


def test_each_direction_has_a_curve_of_percentages() -> None:
    found = measured(0.8)
    assert [(curve.name, curve.title) for curve in found.curves] == [
        ("loss_forward", "Frame loss, forward"), ("loss_reverse", "Frame loss, reverse"),
    ]  # fmt: skip
    for curve in found.curves:
        assert (curve.x.unit, curve.y.unit) == (Unit.PERCENT, Unit.PERCENT)
        [(highest, most), (next_lower, less), *_] = curve.points
        assert (highest, next_lower) == (100, 90)
        assert [most, less] == pytest.approx([20, 100 / 9], abs=0.01)
    assert found.figures["loss_at_maximum_forward"] == found.curves[0].points[0][1]
    assert measured(0.8, directions="forward").figures["loss_at_maximum_reverse"] is None


def test_a_direction_that_delivers_nothing_is_no_result() -> None:
    run = measure(loss(MAXIMUM), code=4, reverse_loss_ratio=1)
    assert run.experiments[0].repetitions[0].value is None
    assert run.experiments[0].reason.startswith("the gateway forwards nothing of reverse: none of ")
