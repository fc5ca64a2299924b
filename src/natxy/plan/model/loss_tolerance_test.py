# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from natxy.plan.model.loss_tolerance import LossTolerance, Phase1Loss, left_out
from natxy.plan.model.units import Percent


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


PHASE1_LOSS: TypeAdapter[int | Percent] = TypeAdapter(Phase1Loss)


@pytest.mark.parametrize(
    ("written", "connections", "missing", "again"),
    [
        (1, 4_000_000, 1, 1),
        ("1k", 50_000, 1000, 1000),
        ("0.001%", 4_000_000, 40, "0.001%"),
        ("7 %", 100, 7, "7%"),
        ("0.001%", 99_999, 0, "0.001%"),
    ],
)
def test_phase_1_may_lose_a_number_or_a_share(written: object, connections: int, missing: int, again: object) -> None:
    loss = PHASE1_LOSS.validate_python(written)
    assert left_out(loss, connections) == missing
    assert PHASE1_LOSS.dump_python(loss) == again
    assert PHASE1_LOSS.validate_python(again) == loss


@pytest.mark.parametrize("written", [0, -1, 0.5, "0%", "100%", "-1%", "all", [1], {"count": 1}, True])
def test_what_is_no_loss_of_phase_1(written: object) -> None:
    with pytest.raises(ValidationError, match=r"expected a number of connections such as 1, or a share of them such"):
        PHASE1_LOSS.validate_python(written)


@given(st.integers(1, 10**6), st.integers(1, 10**8))
def test_a_share_is_the_number_that_it_names(missing: int, connections: int) -> None:
    if missing < connections:
        share = Percent(100 * missing / connections)
        assert left_out(share, connections) == missing
