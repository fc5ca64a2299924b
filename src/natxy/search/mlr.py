# SPDX-License-Identifier: Apache-2.0
"""MLRsearch (RFC 9971) for the highest rate that passes, by the library of its authors.

It takes the loss of a trial for a hint where to go on, and can find the place with short trials before long ones
decide. It begins at the highest rate, so that has to be one which the tester can send.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from natxy.search.outcome import Attempt, Outcome, SearchResult, try_rate

# What the library takes for the length of trials that have none of their own.
_NOMINAL_TRIAL_S = 1.0


@dataclass(frozen=True)
class Sample:
    """Of one trial: `frames` sent in the direction that lost most, and how many of them were lost."""

    outcome: Outcome
    frames: int
    lost: int


@dataclass(frozen=True)
class TrialDurations:
    """In seconds. `initial`: of the shortest trials, `final`: of those that decide, `total`: trial time that decides on
    one rate."""

    initial: float
    final: float
    total: float


@dataclass(frozen=True)
class MlrSearch:
    """Ends when the bracket is no wider than `relative_error` times its upper bound.

    `durations` None: the caller decides how long a trial is, and one decides on its rate. `loss_ratio`: what a trial
    that passes may lose, in the direction that may lose most. `exceed_ratio`: the share of a rate's trial time that may
    have more loss.
    """

    min_rate: float
    max_rate: float
    relative_error: float
    durations: TrialDurations | None = None
    loss_ratio: float = 0.0
    exceed_ratio: float = 0.0
    max_invalid: int = 3

    def run(self, measure: Callable[[Attempt], Sample]) -> SearchResult:
        """TesterLimitReached or NeverPrepared when a rate cannot be tried."""
        goal = self._goal()
        config = Config()
        # The library's own limits stand in each other's way unless the higher is set first.
        config.max_load = self.max_rate
        config.min_load = self.min_rate
        config.goals = (goal,)
        config.search_duration_max = math.inf
        # A trial at the highest rate that counts for nothing.
        config.warmup_duration = 0.0
        measurer = _Measurer(measure, self._goal_loss_ratio, timed=self.durations is not None, tries=self.max_invalid)
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)[goal]
        lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
        return SearchResult(
            rate=0.0 if lower is None else float(lower),
            lower_bound=None if lower is None else float(lower),
            upper_bound=None if upper is None else float(upper),
            steps=measurer.steps,
            conditional_rate=None if lower is None else float(found.conditional_throughput),
        )

    def expected_steps(self) -> int:
        """How many trials a search takes, about: for estimates of time."""
        # Trials at the highest rate and at what arrived there, then halving of what these leave: nothing where the loss
        # tells the rate exactly, taken for a 64th of the range here.
        widths = math.log(self.max_rate / self.min_rate) / self.relative_error
        return 4 + math.ceil(math.log2(1 + widths / 64))

    @property
    def _goal_loss_ratio(self) -> float:
        """A trial that lost exactly what is tolerated passes, whichever way its ratio is rounded."""
        return self.loss_ratio * (1 + 1e-12)

    def _goal(self) -> SearchGoal:
        durations = self.durations or TrialDurations(_NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S)
        return SearchGoal(
            loss_ratio=self._goal_loss_ratio,
            exceed_ratio=self.exceed_ratio,
            relative_width=self.relative_error,
            initial_trial_duration=durations.initial,
            final_trial_duration=durations.final,
            duration_sum=durations.total,
            # Coarser searches before the last one: short trials need one, more only cost trials.
            preceding_targets=int(durations.initial < durations.total),
            # Else a gateway that does not even pass the lowest rate would be an error.
            fail_fast=False,
        )


class _Measurer(AbstractMeasurer):  # type: ignore[misc]
    """`timed`: the library decides how long trials are."""

    def __init__(self, measure: Callable[[Attempt], Sample], loss_ratio: float, *, timed: bool, tries: int) -> None:
        self.steps = 0
        self._measure = measure
        self._loss_ratio = loss_ratio
        self._timed = timed
        self._tries = tries

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        self.steps += 1
        samples: list[Sample] = []

        def once(attempt: Attempt) -> Outcome:
            samples.append(self._measure(attempt))
            return samples[-1].outcome

        duration_s = intended_duration if self._timed else None
        outcome = try_rate(once, Attempt(self.steps, 1, intended_load, duration_s=duration_s), self._tries)
        lost = samples[-1].lost
        if outcome != Outcome.PASS:
            # For other reasons than loss, such as frames wrongly rewritten, or in a direction that may lose less.
            lost = max(lost, math.floor(self._loss_ratio * samples[-1].frames) + 1)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=samples[-1].frames,
            loss_count=lost,
        )
