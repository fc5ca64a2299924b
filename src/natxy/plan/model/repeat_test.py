# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.model.repeat import Repeat


@pytest.mark.parametrize(
    ("written", "least", "text", "dumped"),
    [
        ({"at_most": 1}, 1, "once", 1),
        ({"at_most": 3}, 3, "3 times", 3),
        (
            {"at_most": 30, "until": "3%"},
            6,
            "until the interval is within ±3%, at most 30 times",
            {"at_most": 30, "until": "3%"},
        ),
        (
            {"at_most": 4, "until": "3%"},
            4,
            "until the interval is within ±3%, at most 4 times",
            {"at_most": 4, "until": "3%"},
        ),
    ],
)
def test_a_number_or_as_many_as_the_precision_takes(written: Any, least: int, text: str, dumped: Any) -> None:
    repeat = Repeat.model_validate(written)
    assert (repeat.least, repeat.text, repeat.model_dump(mode="json")) == (least, text, dumped)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [({"at_most": 1}, {"at_most": 0}), ({"at_most": 10_000}, {"at_most": 10_001}), ({"until": "1%"}, {"until": "0%"})],
)
def test_repetitions_have_limits(accepted: dict[str, Any], refused: dict[str, Any]) -> None:
    Repeat.model_validate(accepted)
    with pytest.raises(ValidationError):
        Repeat.model_validate(refused)
