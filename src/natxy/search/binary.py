# SPDX-License-Identifier: Apache-2.0
"""Binary searches: for the highest rate that passes (RFC 2544 §26.1), and for the greatest whole number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from natxy.search.contradictions import Bounds, Trials
from natxy.search.outcome import Attempt, Outcome, Sample, SearchResult, TesterLimitReached, decisive


@dataclass(frozen=True)
class BinarySearch:
    """Halves the bracket until it is no wider than `absolute_error`, or than `relative_error` times its upper bound.

    Exactly one of the two errors is given. Each rate has up to `max_invalid` attempts until one is decisive. Above
    `ceiling`, which the tester is known to send, no rate is tried unless that passes.
    """

    min_rate: float
    max_rate: float
    absolute_error: float | None = None
    relative_error: float | None = None
    max_invalid: int = 3
    ceiling: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.min_rate <= self.max_rate:
            raise ValueError(f"expected 0 < min_rate <= max_rate, got {self.min_rate} and {self.max_rate}")
        errors = [error for error in (self.absolute_error, self.relative_error) if error is not None]
        if len(errors) != 1 or errors[0] <= 0:
            raise ValueError("expected either an absolute or a relative error, above 0")
        if self.max_invalid < 1:
            raise ValueError(f"expected max_invalid of at least 1, got {self.max_invalid}")

    def run(self, measure: Callable[[Attempt], Sample]) -> SearchResult:
        """Searches the rate. Below a rate that the tester cannot send, the search goes on.

        NeverPrepared when no attempt at a rate is decisive, and TesterLimitReached when a lower rate changes nothing,
        or there is none and no rate was decided. Contradicted when the trials contradict each other.
        """
        known = _Known(trials=Trials(lowest=self.min_rate))

        def decided(rate: float) -> Sample:
            known.steps += 1
            attempt = Attempt(known.steps, 1, rate, *self._bracket(known))
            try:
                return decisive(measure, attempt, self.max_invalid)
            except TesterLimitReached as limit:
                limit.lower_bound, limit.upper_bound = known.passed, known.failed
                raise

        while True:
            while (rate := self._next_rate(known)) is not None:
                try:
                    known.add(rate, decided(rate))
                except TesterLimitReached as limit:
                    if rate == known.unsent:
                        known.unsent_again = rate
                    known.unsent = rate
                    undecided = rate == self.min_rate and known.passed is None and known.failed is None
                    if undecided or not limit.at_rate:
                        raise
            bounds = known.trials.settle(known.passed, known.failed, decided)
            if bounds is Bounds.HOLD:
                break
            known.move(bounds)
        return SearchResult(
            known.passed, known.failed, known.steps, unsent_rate=known.unsent, overcome=known.trials.overcome
        )

    def narrow(self, lower: float, upper: float) -> bool:
        """Returns true when the bracket needs no further step."""
        # There is no floating-point number between two adjacent ones.
        return upper - lower <= self._error_at(upper) or not lower < (lower + upper) / 2 < upper

    def expected_steps(self) -> int:
        """Returns the approximate number of steps of a search, for estimates of time."""
        error = self._error_at((self.min_rate + self.max_rate) / 2)
        width = self.max_rate - self.min_rate
        return 1 + math.ceil(math.log2(width / error)) if width > error else 2

    def _error_at(self, rate: float) -> float:
        if self.relative_error is not None:
            return self.relative_error * rate
        assert self.absolute_error is not None
        return self.absolute_error

    def _bracket(self, known: _Known) -> tuple[float, float]:
        highest = self.max_rate
        if self.ceiling is not None and (known.passed or self.min_rate) < self.ceiling:
            highest = min(self.ceiling, highest)
        ends = [end for end in (known.failed, known.unsent, highest) if end is not None]
        return self.min_rate if known.passed is None else known.passed, min(ends)

    def _next_rate(self, known: _Known) -> float | None:
        """Returns the rate of the next step, or None at the end of the search.

        The limits are tried last, and only if all other steps point to them, because the tester need not be able to
        send the highest rate. A rate that the tester could not send is then tried again, because an accident may have
        prevented it.
        """
        lower, upper = self._bracket(known)
        if not self.narrow(lower, upper):
            return (lower + upper) / 2
        if upper in (known.failed, known.unsent) and known.passed is None:
            return None if upper == self.min_rate else self.min_rate
        if upper == known.unsent != known.unsent_again:
            return upper
        return None if upper in (known.passed, known.failed, known.unsent) else upper


@dataclass
class _Known:
    """Holds what a search knows: the highest rate that passed, the lowest that failed, and the lowest that the tester
    could not send; `unsent_again` is the last that it could not send in two tries."""

    trials: Trials
    passed: float | None = None
    failed: float | None = None
    unsent: float | None = None
    unsent_again: float | None = None
    steps: int = 0

    def add(self, rate: float, sample: Sample) -> None:
        """Adds what decided on a rate that was sent."""
        self.trials.add(rate, sample)
        if sample.outcome == Outcome.PASS:
            self.passed = rate
        else:
            self.failed = rate
        if rate == self.unsent:
            self.unsent = None

    def move(self, bounds: Bounds) -> None:
        """Gives up the bound that does not hold, for the next one beyond it."""
        if bounds is Bounds.FAILED_PASSES and self.failed is not None:
            self.passed, self.failed = self.failed, self.trials.failed_above(self.failed)
        elif self.passed is not None:
            self.passed, self.failed = self.trials.passed_below(self.passed), self.passed


@dataclass(frozen=True)
class LongestSearch:
    """Searches the greatest whole number that passes, such as the frames of a burst (RFC 2544 §26.4).

    It tries the multiples of `step` up to `most`, which is one of them. It ends when the numbers that passed and failed
    differ by no more than `error`, or by one `step`.
    """

    most: int
    error: int
    step: int = 1

    def run(self, measure: Callable[[int], Sample]) -> tuple[int, int | None]:
        """Returns the greatest number that passed, 0 if none did, and the smallest that failed, None if none did.

        Contradicted when the trials contradict each other.
        """
        passed, failed, trials = 0, self.most + self.step, Trials(lowest=self.step)
        while True:
            # `most` is tried only if all other steps point to it.
            while (wide := failed - passed > self._width) or passed < self.most < failed:
                tried = (passed + failed) // 2 // self.step * self.step if wide else self.most
                if trials.add(tried, measure(tried)).passed:
                    passed = tried
                else:
                    failed = tried
            upper = failed if failed <= self.most else None
            bounds = trials.settle(passed or None, upper, lambda number: measure(round(number)))
            if bounds is Bounds.HOLD:
                return passed, upper
            if bounds is Bounds.FAILED_PASSES:
                passed, failed = failed, round(trials.failed_above(failed) or self.most + self.step)
            else:
                passed, failed = round(trials.passed_below(passed) or 0), passed

    def expected_steps(self) -> int:
        """Returns the approximate number of steps, for estimates of time."""
        return max(1, math.ceil(math.log2((self.most + self.step) / self._width)))

    @property
    def _width(self) -> int:
        return max(self.error // self.step, 1) * self.step
