# SPDX-License-Identifier: Apache-2.0
"""Searches for a rate, and an MLRsearch's goal."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel, Shorthand
from natxy.plan.model.units import (
    Duration,
    Percent,
    Rate,
    format_duration,
)

RFC_TRIAL_S: Final = 60.0
"""RFC 2544 §24."""
# Frames that a shorter trial sends say little, and what a trial takes besides is no less.
SHORTEST_TRIAL_S: Final = 0.1
FAST_SHARE: Final = 60


class GoalPreset(StrEnum):
    """With both, a rate passes only by a trial of the timing's full length without loss. `fast` looks for the place
    with trials of a 60th of that."""

    STRICT = "strict"
    FAST = "fast"


class GoalPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: GoalPreset | None = None
    initial_trial: Duration | None = Field(default=None, description="the shortest trials, to find the place")
    final_trial: Duration | None = Field(default=None, description="the trials that decide")
    duration_sum: Duration | None = Field(default=None, description="trial time that decides on one rate")
    exceed_ratio: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None, description="share of a rate's trial time that may have loss"
    )


class Goal(PlanModel):
    """Durations in seconds."""

    initial_trial: Duration
    final_trial: Duration
    duration_sum: Duration
    exceed_ratio: float


def resolve_goal(own: GoalPlan, trial_s: float) -> Goal:
    """`trial_s`: the timing's. ValueError for durations that contradict each other."""
    initial_s = trial_s
    if own.preset == GoalPreset.FAST:
        initial_s = min(trial_s, max(trial_s / FAST_SHARE, SHORTEST_TRIAL_S))
    preset = {"initial_trial": initial_s, "final_trial": trial_s, "duration_sum": trial_s, "exceed_ratio": 0.0}
    goal = Goal.model_validate(preset | own.model_dump(exclude={"preset"}, exclude_none=True))
    if not 0 < goal.initial_trial <= goal.final_trial <= goal.duration_sum:
        raise ValueError(
            "expected initial_trial, final_trial and duration_sum to be above 0 and none below the one before, got "
            + ", ".join(map(format_duration, (goal.initial_trial, goal.final_trial, goal.duration_sum)))
        )
    return goal


def goal_deviations(goal: Goal, trial_s: float) -> list[str]:
    """Sentences for the report; `trial_s` is the timing's, which is told apart."""
    sentences = []
    if goal.final_trial < min(RFC_TRIAL_S, trial_s):
        sentences.append(
            f"The trials that decide on a rate last {format_duration(goal.final_trial)}; RFC 2544 §24 asks for at "
            f"least {format_duration(RFC_TRIAL_S)}."
        )
    if goal.exceed_ratio > 0:
        sentences.append(
            f"A rate passes although trials with up to {100 * goal.exceed_ratio:g} % of its trial time lose frames "
            "(MLRsearch's goal exceed ratio); RFC 2544 §26.1 allows no loss."
        )
    return sentences


class SearchPlan(PlanModel):
    """Rates of a throughput search are per direction."""

    kind: Literal["binary", "mlrsearch"] = "binary"
    min_rate: Rate | None = None
    max_rate: Rate | None = None
    error: Rate | None = Field(
        default=None, description="the search ends when its bracket is this narrow; a percentage is of the result"
    )
    goal: Annotated[GoalPlan, Shorthand("preset", "Goal")] | None = Field(
        default=None, description="of an mlrsearch: which trials make a rate pass"
    )

    @model_validator(mode="after")
    def _goal_of_mlrsearch(self) -> SearchPlan:
        if self.goal is not None and self.kind != "mlrsearch":
            raise ValueError("a goal belongs to `kind: mlrsearch`; remove it, or change the kind")
        return self


class Search(PlanModel):
    """Rates in frames per second per direction, or in connections per second. An `error` in percent is relative to
    the result. `goal` is an mlrsearch's, where trials have a length of their own."""

    kind: Literal["binary", "mlrsearch"] = "binary"
    min_rate: float
    max_rate: float
    error: Rate
    goal: Goal | None = None

    @property
    def middle_rate(self) -> float:
        """What a rate not yet searched is taken for in estimates."""
        return (self.min_rate + self.max_rate) / 2

    @property
    def absolute_error(self) -> float | None:
        return None if isinstance(self.error, Percent) else self.error

    @property
    def relative_error(self) -> float | None:
        return self.error.value / 100 if isinstance(self.error, Percent) else None
