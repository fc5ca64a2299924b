# SPDX-License-Identifier: Apache-2.0
"""The rates of an experiment: known beforehand, or searched for by halving or by MLRsearch."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel, Shorthand
from natxy.plan.model.units import (
    AbsoluteRate,
    Duration,
    Percent,
    Rate,
    format_duration,
)

# A shorter trial sends too few frames to be of use, and takes hardly less time as a whole.
SHORTEST_TRIAL_S: Final = 0.1
FAST_SHARE: Final = 60
ROBUST_SHARE: Final = 0.2
ROBUST_TRIALS: Final = 5
# Three of five trials decide: the rate that a gateway reaches in half of its trials.
ROBUST_EXCEED_RATIO: Final = 0.5

SEARCHES: Final = {
    "binary": "halves the bracket until it is as narrow as `error` (RFC 2544 §26.1)",
    "mlrsearch": "uses the loss of trials to choose rates, optionally with short trials first (RFC 9971)",
}
"""The kinds of searches by their names in `search: {kind: ...}`, each with a summary."""


class KnownRate(PlanModel):
    """An absolute rate, or a share of the rate that an earlier experiment measured."""

    rate: AbsoluteRate | None = None
    """Rate per second, of frames in each direction or of connections."""
    experiment: str | None = None
    """Name of an earlier experiment, whose result is taken."""
    percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Share of that result in percent."""

    @model_validator(mode="after")
    def _one_form(self) -> KnownRate:
        share = self.experiment is not None and self.percent is not None
        if (self.rate is not None) == share or (self.experiment is None) != (self.percent is None):
            raise ValueError("expected a rate such as 50k, or {experiment: NAME, percent: 50}")
        return self

    def given_by(self, result: float | None) -> float | None:
        """Returns the rate; None if it is a share of another experiment's `result`, and that is missing or 0."""
        if self.experiment is None or self.percent is None:
            return self.rate
        return (result or 0.0) * self.percent / 100 or None


class GoalPreset(StrEnum):
    """`strict`: a rate passes only with a lossless trial of the timing's full length, and all trials have that length.
    `fast`: the same, but trials of a 60th of that length approach the rate. `robust`: a rate passes with three
    lossless trials out of five, of a fifth of that length."""

    STRICT = "strict"
    FAST = "fast"
    ROBUST = "robust"


class GoalPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: GoalPreset | None = None
    """`strict`, `fast` or `robust`; default: as for `goal`."""
    initial_trial: Duration | None = None
    """Length of the shortest trials; default: the timing's `trial`, `fast` a 60th of it, `robust` half of
    `final_trial`, but at least 100 ms."""
    final_trial: Duration | None = None
    """Length of the trials that decide; default: the timing's `trial`, `robust` a fifth of it."""
    duration_sum: Duration | None = None
    """Trial time that decides on a rate; default: the timing's `trial`, `robust` five times `final_trial`."""
    trials: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Number of deciding trials, instead of `duration_sum`."""
    exceed_ratio: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of the deciding time that may have loss; default: 0, `robust` 0.5."""

    @model_validator(mode="after")
    def _one_sum(self) -> GoalPlan:
        if self.trials is not None and self.duration_sum is not None:
            raise ValueError("expected either trials or duration_sum, not both")
        return self


class Goal(PlanModel):
    """A goal with everything decided. Durations are in seconds, and None for trials whose length follows from their
    connections: `trials` of them decide."""

    initial_trial: Annotated[Duration, Field(gt=0)] | None = None
    final_trial: Annotated[Duration, Field(gt=0)] | None = None
    duration_sum: Annotated[Duration, Field(gt=0)] | None = None
    trials: int | None = None
    exceed_ratio: float

    @property
    def deciding_trials(self) -> int:
        """The number of trials that decide on one rate."""
        if self.duration_sum is None or self.final_trial is None:
            return self.trials or 1
        return math.ceil(self.duration_sum / self.final_trial - 1e-9)


def resolve_goal(own: GoalPlan, trial_s: float) -> Goal:
    """Adds the preset's values; `trial_s` is the timing's trial length.

    Raises ValueError for durations that contradict each other.
    """
    robust = own.preset == GoalPreset.ROBUST
    usual_s = trial_s * ROBUST_SHARE if robust else trial_s
    final_s = usual_s if own.final_trial is None else own.final_trial
    initial_s = {
        GoalPreset.FAST: min(trial_s, max(trial_s / FAST_SHARE, SHORTEST_TRIAL_S)),
        GoalPreset.ROBUST: min(final_s, max(final_s / 2, SHORTEST_TRIAL_S)),
    }.get(own.preset or GoalPreset.STRICT, trial_s)
    trials = own.trials or (ROBUST_TRIALS if robust else None)
    preset = {
        "initial_trial": initial_s,
        "final_trial": final_s,
        "duration_sum": trials * final_s if trials else trial_s,
        "exceed_ratio": ROBUST_EXCEED_RATIO if robust else 0.0,
    }
    goal = Goal.model_validate(preset | own.model_dump(exclude={"preset", "trials"}, exclude_none=True))
    assert goal.initial_trial is not None
    assert goal.final_trial is not None
    assert goal.duration_sum is not None
    if not 0 < goal.initial_trial <= goal.final_trial <= goal.duration_sum:
        raise ValueError(
            "expected initial_trial, final_trial and duration_sum above 0, and each at least the one before, got "
            + ", ".join(map(format_duration, (goal.initial_trial, goal.final_trial, goal.duration_sum)))
        )
    return goal


def resolve_counted_goal(own: GoalPlan) -> Goal | None:
    """Returns the goal of a search whose trials last as long as their connections take; None if one trial decides.

    Raises ValueError for a goal with durations.
    """
    durations = own.initial_trial, own.final_trial, own.duration_sum
    if own.preset == GoalPreset.FAST or any(duration is not None for duration in durations):
        raise ValueError("last as long as their connections take; give `trials` and `exceed_ratio`, or `robust`")
    robust = own.preset == GoalPreset.ROBUST
    trials = own.trials or (ROBUST_TRIALS if robust else 1)
    exceed_ratio = own.exceed_ratio
    if exceed_ratio is None:
        exceed_ratio = ROBUST_EXCEED_RATIO if robust else 0.0
    return Goal(trials=trials, exceed_ratio=exceed_ratio) if trials > 1 else None


class SearchPlan(PlanModel):
    """A search as written. Rates of a throughput search are per direction."""

    kind: Literal["binary", "mlrsearch"] | None = None
    """`binary` (RFC 2544 §26.1) or `mlrsearch` (RFC 9971); default: `mlrsearch` with `timing: lab` where the procedure
    has it and for `ndr-pdr`, else `binary`."""
    min_rate: Rate | None = None
    """Lowest rate to try; default: 1000 per second."""
    max_rate: Rate | None = None
    """Highest rate to try, at most the line's unless links are of software; default: required."""
    error: Rate | None = None
    """Width of the last interval, a rate or a percentage of the result; default: 1%."""
    goal: Annotated[GoalPlan, Shorthand("preset", "Goal")] | None = None
    """Trials by which a rate passes: `strict`, `fast`, `robust`, or a mapping; default: `robust` with `timing: lab`
    without `kind`, else `strict`."""

    @model_validator(mode="after")
    def _goal_of_mlrsearch(self) -> SearchPlan:
        if self.goal is not None and self.kind == "binary":
            raise ValueError("only `kind: mlrsearch` has a goal; remove the goal, or change the kind")
        return self


class Search(PlanModel):
    """A search with everything decided.

    Rates are frames per second per direction, or connections per second. An `error` in percent is relative to the
    result. Only an mlrsearch has a `goal`; without one, a single trial decides on its rate.
    """

    kind: Literal["binary", "mlrsearch"] = "binary"
    min_rate: float
    max_rate: float
    error: Rate
    goal: Goal | None = None

    @property
    def middle_rate(self) -> float:
        """The rate that estimates assume before the search has run."""
        return (self.min_rate + self.max_rate) / 2

    @property
    def absolute_error(self) -> float | None:
        return None if isinstance(self.error, Percent) else self.error

    @property
    def relative_error(self) -> float | None:
        return self.error.value / 100 if isinstance(self.error, Percent) else None
