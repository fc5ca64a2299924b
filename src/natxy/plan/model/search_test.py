# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.search import Goal, GoalPlan, resolve_counted_goal, resolve_goal


@pytest.mark.parametrize(
    ("own", "durations_s", "exceed_ratio", "deciding"),
    [
        ({}, (60, 60, 60), 0, 1),
        ({"preset": "fast"}, (1, 60, 60), 0, 1),
        ({"preset": "robust"}, (6, 12, 60), 0.5, 5),
        ({"preset": "robust", "trials": 3, "exceed_ratio": 0}, (6, 12, 36), 0, 3),
        ({"initial_trial": 1, "final_trial": 2, "trials": 21}, (1, 2, 42), 0, 21),
        ({"initial_trial": 0.1, "final_trial": 0.1, "duration_sum": 0.3}, (0.1, 0.1, 0.3), 0, 3),
    ],
)
def test_a_goal_is_its_preset_s_with_its_own_parts(
    own: dict[str, Any], durations_s: tuple[float, ...], exceed_ratio: float, deciding: int
) -> None:
    goal = resolve_goal(GoalPlan(**own), 60)
    assert (goal.initial_trial, goal.final_trial, goal.duration_sum) == durations_s
    assert (goal.exceed_ratio, goal.deciding_trials) == (exceed_ratio, deciding)


@pytest.mark.parametrize(
    "own",
    [{"final_trial": 1}, {"initial_trial": 0}, {"duration_sum": 30}],
)
def test_durations_must_not_contradict_each_other(own: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"greater than 0|each at least the one before"):
        resolve_goal(GoalPlan(**own), 60)


@pytest.mark.parametrize(
    ("own", "goal"),
    [
        ({}, None),
        ({"trials": 1, "exceed_ratio": 0.5}, None),
        ({"trials": 2}, Goal(trials=2, exceed_ratio=0)),
        ({"preset": "robust"}, Goal(trials=5, exceed_ratio=0.5)),
        ({"preset": "robust", "exceed_ratio": 0}, Goal(trials=5, exceed_ratio=0)),
    ],
)
def test_trials_of_connections_are_counted(own: dict[str, Any], goal: Goal | None) -> None:
    assert resolve_counted_goal(GoalPlan(**own)) == goal


@pytest.mark.parametrize("own", [{"preset": "fast"}, {"initial_trial": 1}, {"final_trial": 1}, {"duration_sum": 1}])
def test_trials_of_connections_have_no_length_of_their_own(own: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="last as long as their connections take"):
        resolve_counted_goal(GoalPlan(**own))
