# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.bench.peer_benchmark import beside, quietest


def test_a_machine_that_slows_down_evenly_changes_no_ratio() -> None:
    speeds = iter((100.0, 2 * 98.0, 0.5 * 96.0, 94.0))

    def measure() -> float:
        return next(speeds)

    ratios = dict(beside(measure, {"twice": measure, "half": measure}))
    assert ratios == pytest.approx({"twice": 2.0, "half": 0.5}, rel=0.011)


def test_the_quietest_round_is_shown_with_what_the_worst_had() -> None:
    rounds = [{"name": "paced-10k", "p999_ns": p999_ns, "max_ns": 10 * p999_ns} for p999_ns in (900, 100, 5000)]
    assert quietest(rounds) == {"name": "paced-10k", "p999_ns": 100, "max_ns": 1000, "p999_worst_ns": 5000}
