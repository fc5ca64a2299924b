# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.loss_tolerance import LossTolerance


@pytest.mark.parametrize(
    ("written", "most", "text", "label"),
    [
        (0, 0, "0 %", ""),
        ("0.01%", 0.0001, "0.01 %", " (non-RFC: up to 0.01 % loss)"),
        (
            {"forward": "0.01%"},
            0.0001,
            "0.01 % forward, 0 % reverse",
            " (non-RFC: up to 0.01 % forward, 0 % reverse loss)",
        ),
        ({"forward": "1%", "reverse": "2%"}, 0.02, "1 % forward, 2 % reverse", None),
    ],
)
def test_a_tolerated_loss_is_that_of_both_directions_or_of_each(
    written: Any, most: float, text: str, label: str | None
) -> None:
    tolerance = LossTolerance.model_validate(written)
    assert (tolerance.most, tolerance.text) == (most, text)
    assert label is None or tolerance.label == label
