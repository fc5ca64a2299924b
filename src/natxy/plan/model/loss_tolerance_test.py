# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.loss_tolerance import LossTolerance


@pytest.mark.parametrize(
    ("written", "most", "text"),
    [
        (0, 0, "0 %"),
        ("0.01%", 0.0001, "0.01 %"),
        ({"forward": "0.01%"}, 0.0001, "0.01 % forward, 0 % reverse"),
        ({"forward": "1%", "reverse": "2%"}, 0.02, "1 % forward, 2 % reverse"),
    ],
)
def test_a_tolerated_loss_is_that_of_both_directions_or_of_each(written: Any, most: float, text: str) -> None:
    tolerance = LossTolerance.model_validate(written)
    assert (tolerance.most, tolerance.text) == (most, text)
