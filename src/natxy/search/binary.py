# SPDX-License-Identifier: Apache-2.0
"""Binary searches: for the highest rate that passes (RFC 2544 §26.1), and for the greatest whole number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from natxy.search.outcome import Attempt, Measure, Outcome, SearchResult, TesterLimitReached, try_rate


@dataclass(frozen=True)
class BinarySearch:
    """Halves the bracket until it is no wider than `absolute_error`, or than `relative_error` times its upper bound.

    Exactly one of the two errors is given. Each rate has up to `max_invalid` attempts until one is decisive.
    """

    min_rate: float
    max_rate: float
    absolute_error: float | None = None
    relative_error: float | None = None
    max_invalid: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.min_rate <= self.max_rate:
            raise ValueError(f"expected 0 < min_rate <= max_rate, got {self.min_rate} and {self.max_rate}")
        errors = [error for error in (self.absolute_error, self.relative_error) if error is not None]
        if len(errors) != 1 or errors[0] <= 0:
            raise ValueError("expected either an absolute or a relative error, above 0")
        if self.max_invalid < 1:
            raise ValueError(f"expected max_invalid of at least 1, got {self.max_invalid}")

    def run(self, measure: Measure) -> SearchResult:
        """Searches the rate. TesterLimitReached or NeverPrepared when no attempt at a rate is decisive."""
        passed: float | None = None
        failed: float | None = None
        steps = 0
        while (rate := self._next_rate(passed, failed)) is not None:
            steps += 1
            attempt = Attempt(steps, 1, rate, *self._bracket(passed, failed))
            try:
                outcome = try_rate(measure, attempt, self.max_invalid)
            except TesterLimitReached as limit:
                raise TesterLimitReached(rate, limit.attempts, limit.invalid, passed, failed) from limit
            if outcome == Outcome.PASS:
                passed = rate
            else:
                failed = rate
        return SearchResult(passed, failed, steps)

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
        return self.absolute_error if self.absolute_error is not None else (self.relative_error or 0) * rate

    def _bracket(self, passed: float | None, failed: float | None) -> tuple[float, float]:
        return self.min_rate if passed is None else passed, self.max_rate if failed is None else failed

    def _next_rate(self, passed: float | None, failed: float | None) -> float | None:
        """Returns the rate of the next step, or None at the end of the search.

        The limits are tried last, and only if all other steps point to them, because the tester need not be able to
        send the highest rate.
        """
        lower, upper = self._bracket(passed, failed)
        if not self.narrow(lower, upper):
            return (lower + upper) / 2
        if failed is None and passed != self.max_rate:
            return self.max_rate
        if passed is None and failed != self.min_rate:
            return self.min_rate
        return None


@dataclass(frozen=True)
class LongestSearch:
    """Searches the greatest whole number that passes, such as the frames of a burst (RFC 2544 §26.4).

    It tries the multiples of `step` up to `most`, which is one of them. It ends when the numbers that passed and failed
    differ by no more than `error`, or by one `step`.
    """

    most: int
    error: int
    step: int = 1

    def run(self, passes: Callable[[int], bool]) -> tuple[int, int | None]:
        """Returns the greatest number that passed, 0 if none did, and the smallest that failed, None if none did."""
        passed, failed = 0, self.most + self.step
        # `most` is tried only if all other steps point to it.
        while (wide := failed - passed > self._width) or passed < self.most < failed:
            tried = (passed + failed) // 2 // self.step * self.step if wide else self.most
            if passes(tried):
                passed = tried
            else:
                failed = tried
        return passed, failed if failed <= self.most else None

    def expected_steps(self) -> int:
        """Returns the approximate number of steps, for estimates of time."""
        return max(1, math.ceil(math.log2((self.most + self.step) / self._width)))

    @property
    def _width(self) -> int:
        return max(self.error // self.step, 1) * self.step
