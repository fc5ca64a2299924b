# SPDX-License-Identifier: Apache-2.0
"""MLRsearch (RFC 9971) for the highest rate that passes, by the library of its authors.

It uses the loss of a trial to choose the next rate, and can narrow the bracket by short trials before long ones decide.
It begins at the highest rate; if the tester cannot send that, at a lower one that the gateway fails, or at the highest
that the tester sends. If the tester cannot send one of the longer trials either, it begins again below that rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from natxy.search.contradictions import Bounds, Trials
from natxy.search.outcome import Attempt, Outcome, Sample, SearchResult, TesterLimitReached, decisive

# The library is loaded where it is used. Loading takes up to 0.4 s, and most commands need no such search.
if TYPE_CHECKING:
    from MLRsearch import GoalResult, MeasurementResult, SearchGoal

# The library never returns if a width of its targets equals that of the whole range, as 1 of 2 to 3 does.
_NOT_THE_RANGE = 0.999
# The length that the library assumes for trials whose length the caller decides.
_NOMINAL_TRIAL_S = 1.0
# A tester that cannot send the highest rate is not asked for it again and again, since the search begins lower as well.
_HASTE = 2


def _raised(loss_ratio: float) -> float:
    """Returns a tolerated loss, slightly raised: a trial that loses exactly that much passes despite rounding."""
    return loss_ratio * (1 + 1e-12)


def _bounds(found: GoalResult) -> tuple[float | None, float | None]:
    """Returns the bounds that the library found for a goal."""
    lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
    return None if lower is None else float(lower), None if upper is None else float(upper)


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
    With a `partial_loss_ratio`, the same search has a second goal, which tolerates this loss (CSIT's PDR).
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
    partial_loss_ratio: float | None = None

    def run(self, measure: Callable[[Attempt], Sample]) -> SearchResult:
        """Searches the rate, up to the highest that the tester sends.

        NeverPrepared when no attempt at a rate is decisive, TesterLimitReached when the tester sends or prepares none,
        and Contradicted when the trials contradict each other.
        """
        measurer = _Measurer(self, measure)
        found = self._from_the_top(measurer)
        # The library knows nothing of a bound that passes after all, so that it searches anew.
        while (
            measurer.trials.settle(found.lower_bound, found.upper_bound, lambda rate: self._decide(rate, measurer.anew))
            is not Bounds.HOLD
        ):
            found = self._from_the_top(measurer)
        return replace(found, steps=measurer.steps, overcome=measurer.trials.overcome)

    def _from_the_top(self, measurer: _Measurer) -> SearchResult:
        """Searches the rate, beginning with the highest; `steps` of the result is 0."""
        highest, more = self._highest_load(measurer, 0.0)
        while True:
            try:
                found = self._below(measurer, highest)
            except TesterLimitReached as limit:
                if not limit.at_rate:
                    raise
                highest, more = self._highest_load(measurer, measurer.passed_below(limit))
                continue
            before = highest
            unbounded = found.upper_bound is None or (self._has_two_goals and found.partial_upper_bound is None)
            if unbounded and more and highest < self.max_rate:
                # The rate that the search began at failed only once: it passes, as more trials have shown. What passed
                # must pass again, so that an accident here does not leave a wide bracket.
                highest, more = self._highest_load(measurer, before)
            if highest == before:
                unsent = measurer.limits[-1].rate if measurer.limits else None
                return replace(found, unsent_rate=unsent)

    def _below(self, measurer: _Measurer, highest: float) -> SearchResult:
        """Searches from the lowest rate to `highest`; `steps` of the result is 0."""
        if highest <= self.min_rate:
            return self._alone(measurer, self.min_rate)
        from MLRsearch import Config, MultipleLossRatioSearch

        goals = tuple(map(self._goal, self._goal_loss_ratios))
        config = Config()
        # The library checks each limit against the other, at first against its default.
        if self.min_rate < config.max_load:
            config.min_load = self.min_rate
        config.max_load = highest
        config.min_load = self.min_rate
        config.goals = goals
        config.search_duration_max = math.inf
        # No warm-up trial at the highest rate, which would not count.
        config.warmup_duration = 0.0
        results = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)
        found = results[goals[0]]
        lower, upper = _bounds(found)
        partial_lower, partial_upper = _bounds(results[goals[1]]) if self._has_two_goals else (None, None)
        return SearchResult(
            lower_bound=lower,
            upper_bound=upper,
            steps=0,
            conditional_rate=None if lower is None else float(found.conditional_throughput),
            partial_lower_bound=partial_lower,
            partial_upper_bound=partial_upper,
        )

    def _alone(self, measurer: _Measurer, rate: float) -> SearchResult:
        """Decides on the only rate that is left, which the library refuses as a range. `steps` of the result is 0.

        As in the library, the rate is decided as soon as no further trial could change the outcome.
        """
        sample = self._decide(rate, measurer.sample)
        partial = rate if self._has_two_goals and self._meets_a_goal(sample) else None
        if sample.outcome == Outcome.PASS:
            return SearchResult(rate, None, steps=0, conditional_rate=rate, partial_lower_bound=partial)
        return SearchResult(None, rate, steps=0, partial_lower_bound=partial)

    def _decide(self, rate: float, measure: Callable[[float, float], Sample]) -> Sample:
        """Measures as often as the goal asks for; returns the trial that lost least of those with the outcome.

        As in the library, the rate is decided as soon as no further trial could change the outcome.
        """
        samples: list[Sample] = []
        while True:
            samples.append(measure(self.lengths.final, rate))
            failed = [sample for sample in samples if sample.outcome != Outcome.PASS]
            if len(failed) > self.forgiven:
                return min(failed, key=lambda sample: sample.lost / max(1, sample.frames))
            if len(failed) + self.deciding - len(samples) <= self.forgiven:
                return next(sample for sample in samples if sample.outcome == Outcome.PASS)

    def expected_steps(self) -> int:
        """Returns the approximate number of trials of a search, for estimates of time."""
        # Trials at the highest rate and at the rate that arrived there, then halving of the bracket that remains. The
        # loss may give the rate exactly; a 64th of the range is assumed.
        widths = math.log(self.max_rate / self.min_rate) / self.relative_error
        # One of the two bounds passes and the other fails, each as soon as it is decided. So do those of a second goal.
        second = self.deciding if self._has_two_goals else 0
        return 3 + self.deciding + second + math.ceil(math.log2(1 + widths / 64))

    @property
    def _goal_loss_ratios(self) -> tuple[float, ...]:
        """The loss that each goal tolerates."""
        second = [] if self.partial_loss_ratio is None else [_raised(self.partial_loss_ratio)]
        return (_raised(self.loss_ratio), *second)

    @property
    def _has_two_goals(self) -> bool:
        return self.partial_loss_ratio is not None

    def intolerable_loss(self, sample: Sample) -> int:
        """Returns how many lost frames the library has to hear of a failed trial, at least.

        A trial that failed by its loss has failed the first goal, and any other failed trial both goals.
        """
        ratios = self._goal_loss_ratios
        return math.floor((ratios[0] if sample.by_loss else ratios[-1]) * sample.frames) + 1

    def _meets_a_goal(self, sample: Sample) -> bool:
        """Returns true unless the trial failed by more than the loss that any goal allows."""
        *_, most = self._goal_loss_ratios
        return sample.outcome == Outcome.PASS or (
            self._has_two_goals and sample.by_loss and sample.lost <= most * sample.frames
        )

    def _highest_load(self, measurer: _Measurer, passed: float) -> tuple[float, bool]:
        """Returns the highest rate, or, if the tester cannot send it, a lower one at which the gateway meets no goal.

        The rate is above `passed`. If the gateway meets a goal with all that the tester sends, returns the highest rate
        at which it did, and False: there is no higher one. Raises TesterLimitReached if there is none.
        """
        limits = measurer.limits
        while True:
            highest = limits[-1].rate if limits else self._start_above(passed)
            load = (passed + highest) / 2 if limits else highest
            if limits and (load <= self.min_rate or highest - passed <= self.relative_error * highest):
                try:
                    # The gateway passes all that the tester sends, or the tester was disturbed: this decides.
                    measurer.once_more(limits[-1])
                except TesterLimitReached:
                    if not passed:
                        raise
                    return passed, False
                limits.pop()
                return highest, True
            try:
                sample = measurer.first(load, most_invalid=None if passed else _HASTE)
            except TesterLimitReached as limit:
                if not limit.at_rate:
                    raise
                limits.append(limit)
            else:
                if not limits or not self._meets_a_goal(sample):
                    return load, True
                passed = load

    def _start_above(self, passed: float) -> float:
        """Returns the first rate to try: the tester's ceiling, or the highest if that has passed."""
        if self.ceiling is not None and max(passed, self.min_rate) < self.ceiling:
            return min(self.ceiling, self.max_rate)
        return self.max_rate

    @property
    def deciding(self) -> int:
        """The number of trials that decide on a rate."""
        return math.ceil(self.lengths.total / self.lengths.final)

    @property
    def forgiven(self) -> int:
        """The number of these trials that may fail."""
        return math.floor(self.exceed_ratio * self.deciding * (1 + 1e-9))

    @property
    def lengths(self) -> TrialDurations:
        """The lengths of trials as the library sees them."""
        return self.durations or TrialDurations(_NOMINAL_TRIAL_S, _NOMINAL_TRIAL_S, self.trials * _NOMINAL_TRIAL_S)

    def _goal(self, loss_ratio: float) -> SearchGoal:
        from MLRsearch import SearchGoal

        durations = self.lengths
        return SearchGoal(
            loss_ratio=loss_ratio,
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


class _Measurer:
    """Passes the library's trials on to the caller's function, and keeps what the tester sent and could not send.

    Implements the library's AbstractMeasurer.

    `limits` are the rates that the tester cannot send, the lowest last; `trials` are those that decided.
    """

    def __init__(self, search: MlrSearch, measure: Callable[[Attempt], Sample]) -> None:
        self.steps = 0
        self.limits: list[TesterLimitReached] = []
        self.trials = Trials(forgiving=True)
        self._search = search
        self._measure = measure
        # The length of trials that find the highest rate: a tester may send short trials at rates too high for longer.
        self._first_s = search.lengths.initial
        self._last_s = 0.0
        # The longest trial that passed at each rate.
        self._passed_s: dict[float, float] = {}
        self._first: dict[tuple[float, float], Sample] = {}
        self._retried: set[float] = set()

    def first(self, intended_load: float, most_invalid: int | None = None) -> Sample:
        """Measures before the library does, and keeps the result for its first such trial.

        TesterLimitReached already after `most_invalid` invalid attempts.
        """
        sample = self.anew(self._first_s, intended_load, most_invalid)
        self._first[self._first_s, intended_load] = sample
        return sample

    def once_more(self, limit: TesterLimitReached) -> None:
        """Measures as `first` does at a rate that the tester could not send; raises `limit` if it did so before."""
        if limit.rate in self._retried:
            raise limit
        self._retried.add(limit.rate)
        self.first(limit.rate)

    def passed_below(self, limit: TesterLimitReached) -> float:
        """Adds a limit that the library met, and returns the highest rate below it that passed in a trial as long; 0 if
        none did. `first` measures as long from now on."""
        self.limits.append(limit)
        self._first_s = max(self._first_s, self._last_s)
        passed = (load for load, longest_s in self._passed_s.items() if longest_s >= self._first_s)
        return max((load for load in passed if load < limit.rate), default=0.0)

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        return self._result(self.sample(intended_duration, intended_load), intended_duration, intended_load)

    def sample(self, duration_s: float, load: float) -> Sample:
        """Returns what `first` has kept for such a trial, once, or else measures."""
        return self._first.pop((duration_s, load), None) or self.anew(duration_s, load)

    def anew(self, duration_s: float, load: float, most_invalid: int | None = None) -> Sample:
        """Measures, and returns the decisive sample; TesterLimitReached or NeverPrepared when there is none."""
        self.steps += 1
        self._last_s = duration_s
        outcomes: list[Outcome] = []

        def once(attempt: Attempt) -> Sample:
            sample = self._measure(attempt)
            outcomes.append(sample.outcome)
            if outcomes.count(Outcome.INVALID) == most_invalid and Outcome.DISTURBED not in outcomes:
                raise TesterLimitReached(load, len(outcomes), most_invalid)
            return sample

        attempt = Attempt(self.steps, 1, load, duration_s=duration_s if self._search.durations else None)
        sample = decisive(once, attempt, self._search.max_invalid)
        self.trials.add(load, sample)
        if sample.outcome == Outcome.PASS:
            self._passed_s[load] = max(duration_s, self._passed_s.get(load, 0.0))
        return sample

    def _result(self, sample: Sample, duration_s: float, load: float) -> MeasurementResult:
        from MLRsearch import MeasurementResult

        lost = sample.lost
        if sample.outcome != Outcome.PASS:
            # The trial failed by more than this loss: by misrouted frames, or in a direction that tolerates less.
            lost = max(lost, self._search.intolerable_loss(sample))
        return MeasurementResult(
            intended_duration=duration_s,
            intended_load=load,
            offered_count=sample.frames,
            loss_count=lost,
        )
