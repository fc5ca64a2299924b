# SPDX-License-Identifier: Apache-2.0
"""MLRsearch (RFC 9971) for the highest rate that passes, by the library of its authors.

It uses the loss of a trial to choose the next rate, and can narrow the bracket by short trials before long ones decide.
It begins at the highest rate; if the tester cannot send that, at a lower one that the gateway fails, or at the highest
that the tester sends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from natxy.search.outcome import Attempt, Outcome, SearchResult, TesterLimitReached, try_rate

# The library never returns if a width of its targets equals that of the whole range, as 1 of 2 to 3 does.
_NOT_THE_RANGE = 0.999
# The length that the library assumes for trials whose length the caller decides.
_NOMINAL_TRIAL_S = 1.0
# A tester that cannot send the highest rate is not asked for it again and again, since the search begins lower as well.
_HASTE = 2


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

    Without `durations`, the caller decides the length of trials, and `trials` of them decide on a rate. `loss_ratio` is
    the tolerated loss of a trial that passes, in the direction that tolerates most. `exceed_ratio` is the share of a
    rate's trial time, or of its trials, that may lose more. A rate has no further trials once no outcome of theirs
    could change the decision. Above `ceiling`, which the tester is known to send, no rate is tried unless that passes.
    """

    min_rate: float
    max_rate: float
    relative_error: float
    durations: TrialDurations | None = None
    trials: int = 1
    loss_ratio: float = 0.0
    exceed_ratio: float = 0.0
    max_invalid: int = 3
    ceiling: float | None = None

    def run(self, measure: Callable[[Attempt], Sample]) -> SearchResult:
        """Searches the rate, up to the highest that the tester sends.

        NeverPrepared when no attempt at a rate is decisive, and TesterLimitReached when the tester sends or prepares
        none.
        """
        measurer = _Measurer(self, measure)
        limits: list[float] = []
        highest, more = self._highest_load(measurer, limits, 0.0)
        found = self._below(measurer, highest)
        while found.upper_bound is None and more and highest < self.max_rate:
            # The rate that the search began at failed only once: it passes, as more trials have shown. What passed must
            # pass again, so that an accident here does not leave a wide bracket.
            before = highest
            highest, more = self._highest_load(measurer, limits, before)
            if highest > before:
                found = self._below(measurer, highest)
        return replace(found, steps=measurer.steps, unsent_rate=min(limits, default=None))

    def _below(self, measurer: _Measurer, highest: float) -> SearchResult:
        """Lets the library search from the lowest rate to `highest`; `steps` of its result is 0."""
        goal = self._goal()
        config = Config()
        # The library checks each limit against the other, at first against its default.
        if self.min_rate < config.max_load:
            config.min_load = self.min_rate
        config.max_load = highest
        config.min_load = self.min_rate
        config.goals = (goal,)
        config.search_duration_max = math.inf
        # No warm-up trial at the highest rate, which would not count.
        config.warmup_duration = 0.0
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)[goal]
        lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
        return SearchResult(
            lower_bound=None if lower is None else float(lower),
            upper_bound=None if upper is None else float(upper),
            steps=0,
            conditional_rate=None if lower is None else float(found.conditional_throughput),
        )

    def expected_steps(self) -> int:
        """Returns the approximate number of trials of a search, for estimates of time."""
        # Trials at the highest rate and at the rate that arrived there, then halving of the bracket that remains. The
        # loss may give the rate exactly; a 64th of the range is assumed.
        widths = math.log(self.max_rate / self.min_rate) / self.relative_error
        trials = math.ceil(self.durations.total / self.durations.final) if self.durations else self.trials
        # One of the two bounds passes and the other fails, each as soon as it is decided.
        return 3 + trials + math.ceil(math.log2(1 + widths / 64))

    @property
    def goal_loss_ratio(self) -> float:
        """The tolerated loss, slightly raised: a trial that loses exactly that much passes despite rounding."""
        return self.loss_ratio * (1 + 1e-12)

    def _highest_load(self, measurer: _Measurer, limits: list[float], passed: float) -> tuple[float, bool]:
        """Returns the highest rate, or, if the tester cannot send it, a lower one that the gateway fails.

        The rate is above `passed`. If the gateway passes all that the tester sends, returns the highest rate that
        passed, and False: there is no higher one. `limits` has the rates that the tester cannot send, the lowest last,
        and is added to. Raises TesterLimitReached if none passed.
        """
        while True:
            highest = limits[-1] if limits else self._start_above(passed)
            load = (passed + highest) / 2 if limits else highest
            if limits and (load <= self.min_rate or highest - passed <= self.relative_error * highest):
                try:
                    # The gateway passes all that the tester sends, or the tester was disturbed: this decides.
                    measurer.first(self._durations.initial, highest)
                except TesterLimitReached:
                    if not passed:
                        raise
                    return passed, False
                limits.pop()
                return highest, True
            try:
                outcome = measurer.first(self._durations.initial, load, most_invalid=None if passed else _HASTE)
            except TesterLimitReached as limit:
                if not limit.at_rate:
                    raise
                limits.append(load)
            else:
                if not limits or outcome == Outcome.FAIL:
                    return load, True
                passed = load

    def _start_above(self, passed: float) -> float:
        """Returns the first rate to try: the tester's ceiling, or the highest if that has passed."""
        if self.ceiling is not None and max(passed, self.min_rate) < self.ceiling:
            return min(self.ceiling, self.max_rate)
        return self.max_rate

    @property
    def _durations(self) -> TrialDurations:
        return self.durations or TrialDurations(_NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S, self.trials * _NOMINAL_TRIAL_S)

    def _goal(self) -> SearchGoal:
        durations = self._durations
        return SearchGoal(
            loss_ratio=self.goal_loss_ratio,
            # Slightly raised, because the library adds up durations, which are not exact.
            exceed_ratio=self.exceed_ratio * (1 + 1e-9),
            relative_width=self.relative_error * _NOT_THE_RANGE,
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
        self._first: MeasurementResult | None = None

    def first(self, intended_duration: float, intended_load: float, most_invalid: int | None = None) -> Outcome:
        """Measures before the library does, and keeps the result for its first trial.

        TesterLimitReached already after `most_invalid` invalid attempts.
        """
        sample = self._sample(intended_duration, intended_load, most_invalid)
        self._first = self._result(sample, intended_duration, intended_load)
        return sample.outcome

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        first, self._first = self._first, None
        if first and (first.intended_duration, first.intended_load) == (intended_duration, intended_load):
            return first
        return self._result(self._sample(intended_duration, intended_load), intended_duration, intended_load)

    def _sample(self, duration_s: float, load: float, most_invalid: int | None = None) -> Sample:
        """Returns the decisive sample; TesterLimitReached or NeverPrepared when there is none."""
        self.steps += 1
        samples: list[Sample] = []

        def once(attempt: Attempt) -> Outcome:
            samples.append(self._measure(attempt))
            outcomes = [sample.outcome for sample in samples]
            if outcomes.count(Outcome.INVALID) == most_invalid and Outcome.DISTURBED not in outcomes:
                raise TesterLimitReached(load, len(samples), most_invalid)
            return samples[-1].outcome

        attempt = Attempt(self.steps, 1, load, duration_s=duration_s if self._search.durations else None)
        outcome = try_rate(once, attempt, self._search.max_invalid)
        # A disturbed failure decides if nothing else does, and need not be the last attempt.
        decisive = next(sample for sample in reversed(samples) if sample.outcome in (outcome, Outcome.DISTURBED))
        return replace(decisive, outcome=outcome)

    def _result(self, sample: Sample, duration_s: float, load: float) -> MeasurementResult:
        lost = sample.lost
        if sample.outcome != Outcome.PASS:
            # The trial failed by more than this loss: by misrouted frames, or in a direction that tolerates less.
            lost = max(lost, math.floor(self._search.goal_loss_ratio * sample.frames) + 1)
        return MeasurementResult(
            intended_duration=duration_s,
            intended_load=load,
            offered_count=sample.frames,
            loss_count=lost,
        )
