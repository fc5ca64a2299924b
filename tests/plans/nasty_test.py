# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy check` on texts that are no plan: one paragraph, exit code 2, and little memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from tests.support.checked import ACCEPTED, MOST_BYTES, REFUSED, checked, explain
from tests.support.nasty_plans import PLANS
from tests.support.timing import takes_at_most

# Odd, and yet plans.
FINE: Final = {"UTF-8 with a byte order mark", "a very small precision", "carriage returns"}
# Nobody waits longer for the answer to a plan of a usual length; the YAML library's time follows from the length.
MOST_S: Final = 1.0
USUAL_BYTES: Final = 20_000


@pytest.mark.parametrize("name", PLANS)
def test_no_plan_is_refused_in_one_paragraph(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = checked(PLANS[name], tmp_path)
    assert not explain(found), found.error[:2000]
    assert found.code == (ACCEPTED if name in FINE else REFUSED), found.error
    assert found.peak_bytes < MOST_BYTES


@pytest.mark.parametrize("name", PLANS)
def test_the_answer_comes_at_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def used_s() -> float:
        started_s = time.process_time()
        checked(PLANS[name], tmp_path)
        return time.process_time() - started_s

    takes_at_most(MOST_S * max(1.0, len(PLANS[name]) / USUAL_BYTES), used_s)


def test_none_of_them_is_long() -> None:
    """A plan's cost follows from its length, so that a bound for short ones is one for all."""
    assert max(map(len, PLANS.values())) < 100_000
