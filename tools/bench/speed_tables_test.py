# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.bench.speed_tables import below_goal, cycle_rows, siitperf_rows


@pytest.mark.parametrize(("median", "below"), [(1.494, True), (1.496, False), (1.5, False), (0.9, True)])
def test_a_ratio_is_judged_as_it_is_shown(median: float, below: bool) -> None:
    assert below_goal({"ratio_median": median, "ratio_min": 0.1, "ratio_max": 9.0, "goal": 1.5}) is below


@pytest.mark.parametrize(("goal_ns", "below"), [(1000, True), (1001, False), (None, False)])
def test_lateness_is_judged_where_it_has_a_goal(goal_ns: int | None, below: bool) -> None:
    assert below_goal({"p999_ns": 1001, "goal_p999_ns": goal_ns}) is below
    assert not below_goal({"connections": 100_000_000})


def test_parts_that_a_task_does_not_have_stay_empty_in_the_table_of_cycles() -> None:
    rows = list(
        cycle_rows(
            [{"name": "send", "cycles": {"port": 15.6, "rest": 0.4}}, {"name": "receive", "cycles": {"judging": 20.0}}]
        )
    )
    assert rows[2:] == [
        "| port | 15.6 |  |",
        "| rest | 0.4 |  |",
        "| judging |  | 20.0 |",
        "| **all** | **16.0** | **20.0** |",
    ]


def test_siitperfs_own_ratio_is_beside_that_of_the_program() -> None:
    row = {"name": "fixed", "ratio_median": 1.5, "ratio_min": 0.25, "ratio_max": 2.0, "goal": 1.0, "siitperf": 0.57}
    assert [*siitperf_rows([row])][1:] == ["| fixed | 1.50 | 0.25 | 2.00 | 1.00 | 0.57 |  |"]
