# SPDX-License-Identifier: Apache-2.0
"""MLRsearch (RFC 9971) for the highest rate that passes, by the library of its authors.

It uses the loss of a trial to choose the next rate, and can narrow the bracket by short trials before long ones decide.
It begins at the highest rate, which the tester must therefore be able to send.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from natxy.search.outcome import Attempt, Outcome, SearchResult, try_rate

# The length that the library assumes for trials whose length the caller decides.
_NOMINAL_TRIAL_S = 1.0


@dataclass(frozen=True)
class Sample:
    """The result of one trial: `frames` sent in the direction that lost most, of which `lost` were lost."""

    outcome: Outcome
    frames: int
    lost: int


@dataclass(frozen=True)
class TrialDurations:
    """The lengths of trials in seconds.

    `initial` is that of the shortest trials, `final` that of decisive ones, and `total` the sum of decisive trials at
    one rate.
    """

    initial: float
    final: float
    total: float


@dataclass(frozen=True)
class MlrSearch:
    """Narrows the bracket until it is no wider than `relative_error` times its upper bound.

    Without `durations`, the caller decides the length of trials, and one trial decides about its rate. `loss_ratio` is
    the tolerated loss of a trial that passes, in the direction that tolerates most. `exceed_ratio` is the share of a
    rate's trial time that may lose more.
    """

    min_rate: float
    max_rate: float
    relative_error: float
    durations: TrialDurations | None = None
    loss_ratio: float = 0.0
    exceed_ratio: float = 0.0
    max_invalid: int = 3

    def run(self, measure: Callable[[Attempt], Sample]) -> SearchResult:
        """Searches the rate. TesterLimitReached or NeverPrepared when no attempt at a rate is decisive."""
        goal = self._goal()
        config = Config()
        # The library checks each limit against the other, so the higher one is set first.
        config.max_load = self.max_rate
        config.min_load = self.min_rate
        config.goals = (goal,)
        config.search_duration_max = math.inf
        # No warm-up trial at the highest rate, which would not count.
        config.warmup_duration = 0.0
        measurer = _Measurer(self, measure)
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)[goal]
        lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
        return SearchResult(
            lower_bound=None if lower is None else float(lower),
            upper_bound=None if upper is None else float(upper),
            steps=measurer.steps,
            conditional_rate=None if lower is None else float(found.conditional_throughput),
        )

    def expected_steps(self) -> int:
        """Returns the approximate number of trials of a search, for estimates of time."""
        # Trials at the highest rate and at the rate that arrived there, then halving of the bracket that remains. The
        # loss may give the rate exactly; a 64th of the range is assumed.
        widths = math.log(self.max_rate / self.min_rate) / self.relative_error
        return 4 + math.ceil(math.log2(1 + widths / 64))

    @property
    def goal_loss_ratio(self) -> float:
        """The tolerated loss, slightly raised: a trial that loses exactly that much passes despite rounding."""
        return self.loss_ratio * (1 + 1e-12)

    def _goal(self) -> SearchGoal:
        durations = self.durations or TrialDurations(_NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S)
        return SearchGoal(
            loss_ratio=self.goal_loss_ratio,
            exceed_ratio=self.exceed_ratio,
            relative_width=self.relative_error,
            initial_trial_duration=durations.initial,
            final_trial_duration=durations.final,
            duration_sum=durations.total,
            # The number of coarser searches before the last one: short trials need one, more only cost trials.
            preceding_targets=int(durations.initial < durations.total),
            # Otherwise a gateway that fails at the lowest rate would be an error.
            fail_fast=False,
        )


class _Measurer(AbstractMeasurer):  # type: ignore[misc]
    """Passes the library's trials on to the caller's function."""

    def __init__(self, search: MlrSearch, measure: Callable[[Attempt], Sample]) -> None:
        self.steps = 0
        self._search = search
        self._measure = measure

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        self.steps += 1
        samples: list[Sample] = []

        def once(attempt: Attempt) -> Outcome:
            samples.append(self._measure(attempt))
            return samples[-1].outcome

        duration_s = intended_duration if self._search.durations else None
        attempt = Attempt(self.steps, 1, intended_load, duration_s=duration_s)
        outcome = try_rate(once, attempt, self._search.max_invalid)
        lost = samples[-1].lost
        if outcome != Outcome.PASS:
            # The trial failed by more than this loss: by misrouted frames, or in a direction that tolerates less.
            lost = max(lost, math.floor(self._search.goal_loss_ratio * samples[-1].frames) + 1)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=samples[-1].frames,
            loss_count=lost,
        )
