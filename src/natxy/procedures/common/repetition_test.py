# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.model.timing import LAB_TIMING, RFC_TIMING
from natxy.procedures.common.repetition import LONGEST_REST_S, rest_s


def test_the_rest_doubles_until_it_is_longest() -> None:
    rests = [rest_s(LAB_TIMING.settle, attempt) for attempt in range(1, 11)]
    assert rests[:4] == pytest.approx([0.02, 0.04, 0.08, 0.16])
    assert rests[-3:] == [LONGEST_REST_S] * 3


def test_the_rest_of_the_rfcs_is_never_shorter() -> None:
    assert {rest_s(RFC_TIMING.settle, attempt) for attempt in range(1, 101)} == {5.0}
