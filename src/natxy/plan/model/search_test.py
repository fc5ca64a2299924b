# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.model.base import PlanModel
from natxy.plan.model.search import (
    Goal,
    GoalPlan,
    KnownRate,
    Search,
    SearchPlan,
    resolve_counted_goal,
    resolve_goal,
)
from natxy.plan.model.units import Percent


@pytest.mark.parametrize(
    ("own", "durations_s", "exceed_ratio", "deciding"),
    [
        ({}, (60, 60, 60), 0, 1),
        ({"preset": "fast"}, (1, 60, 60), 0, 1),
        ({"preset": "robust"}, (6, 12, 60), 0.5, 5),
        ({"preset": "robust", "trials": 3, "exceed_ratio": 0}, (6, 12, 36), 0, 3),
        ({"preset": "robust", "final_trial": 20}, (10, 20, 100), 0.5, 5),
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


@pytest.mark.parametrize(
    ("preset", "trial_s", "initial_s", "final_s"),
    [
        # A 60th of the length, or a half of a decisive trial, but not below 0.1 s unless the length itself is.
        ("fast", 60, 1, 60),
        ("fast", 3, 0.1, 3),
        ("fast", 0.05, 0.05, 0.05),
        ("robust", 60, 6, 12),
        ("robust", 0.75, 0.1, 0.15),
        ("robust", 0.25, 0.05, 0.05),
        ("strict", 7, 7, 7),
    ],
)
def test_short_trials_are_not_too_short(preset: Any, trial_s: float, initial_s: float, final_s: float) -> None:
    goal = resolve_goal(GoalPlan(preset=preset), trial_s)
    assert (goal.initial_trial, goal.final_trial) == pytest.approx((initial_s, final_s))


@pytest.mark.parametrize(
    ("written", "result", "rate"),
    [
        ({"rate": "50k"}, None, 50e3),
        ({"rate": "50k"}, 1.0, 50e3),
        ({"experiment": "x", "percent": 50}, 80e3, 40e3),
        ({"experiment": "x", "percent": 100}, 80e3, 80e3),
        ({"experiment": "x", "percent": 50}, 0.0, None),
        ({"experiment": "x", "percent": 50}, None, None),
    ],
)
def test_a_known_rate_is_given_or_a_share_of_a_result(
    written: dict[str, Any], result: float | None, rate: float | None
) -> None:
    assert KnownRate.model_validate(written).given_by(result) == rate


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"rate": "50k", "experiment": "x", "percent": 50},
        {"rate": "50k", "experiment": "x"},
        {"rate": "50k", "percent": 50},
        {"experiment": "x"},
        {"percent": 50},
    ],
)
def test_a_known_rate_has_one_form(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="expected a rate such as 50k, or "):
        KnownRate.model_validate(written)


@pytest.mark.parametrize(
    ("model", "accepted", "refused"),
    [
        (KnownRate, {"experiment": "x", "percent": 100}, {"experiment": "x", "percent": 100.1}),
        (KnownRate, {"experiment": "x", "percent": 0.1}, {"experiment": "x", "percent": 0}),
        (GoalPlan, {"trials": 1}, {"trials": 0}),
        (GoalPlan, {"trials": 1000}, {"trials": 1001}),
        (GoalPlan, {"exceed_ratio": 0}, {"exceed_ratio": -0.1}),
        (GoalPlan, {"exceed_ratio": 0.99}, {"exceed_ratio": 1}),
        (GoalPlan, {"duration_sum": 3}, {"duration_sum": 3, "trials": 2}),
        (SearchPlan, {"goal": "fast"}, {"goal": "fast", "kind": "binary"}),
        (SearchPlan, {"goal": "fast", "kind": "mlrsearch"}, {"goal": "fast", "kind": "bisect"}),
    ],
)
def test_settings_have_limits(model: type[PlanModel], accepted: dict[str, Any], refused: dict[str, Any]) -> None:
    model.model_validate(accepted)
    with pytest.raises(ValidationError):
        model.model_validate(refused)


def test_an_error_is_absolute_or_relative_to_the_result() -> None:
    relative, absolute = (Search(min_rate=1e3, max_rate=5e3, error=error) for error in (Percent(2), 500.0))
    assert (relative.relative_error, relative.absolute_error) == (0.02, None)
    assert (absolute.relative_error, absolute.absolute_error) == (None, 500)
    assert absolute.middle_rate == 3e3
