# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.calibration.case import Expected, Reading, exactly, within
from natxy.plan.units import Unit


@pytest.mark.parametrize(
    ("expected", "measured", "error", "ok"),
    [
        (exactly(100), 100.0, 0.0, True),
        (exactly(100), 101.0, 1.0, False),
        (within(100, 2, "w"), 98.0, -2.0, True),
        (within(100, 2, "w"), 102.1, 2.1, False),
        (Expected(100, "w", below=5), 95.0, -5.0, True),
        (Expected(100, "w", below=5), 100.5, 0.5, False),
        (within(0.3, 0, "w"), 0.1 + 0.2, 0.0, True),
        (exactly(0), None, None, False),
    ],
)
def test_what_counts_as_true(expected: Expected, measured: float | None, error: float | None, ok: bool) -> None:
    reading = Reading("case", "throughput", "x", Unit.FPS, expected, measured)
    assert reading.ok is ok
    assert reading.error == (error if error is None else pytest.approx(error, abs=1e-12))
