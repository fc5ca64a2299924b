# SPDX-License-Identifier: Apache-2.0
"""Binary search for the highest rate that passes (RFC 2544 §26.1)."""

from __future__ import annotations

import math
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
        return _Run(self, measure).search()

    def narrow(self, lower: float, upper: float) -> bool:
        """Returns true when the bracket needs no further step."""
        error = self.absolute_error if self.absolute_error is not None else (self.relative_error or 0) * upper
        # There is no floating-point number between two adjacent ones.
        return upper - lower <= error or not lower < (lower + upper) / 2 < upper

    def expected_steps(self) -> int:
        """Returns the approximate number of steps of a search, for estimates of time."""
        middle = (self.min_rate + self.max_rate) / 2
        error = self.absolute_error if self.absolute_error is not None else (self.relative_error or 0) * middle
        width = self.max_rate - self.min_rate
        return 1 + math.ceil(math.log2(width / error)) if width > error else 2


class _Run:
    """The state of one search.

    `passed` and `failed` are None until a rate has passed or failed. The limits are tried last, and only if all other
    steps point to them, because the tester need not be able to send the highest rate.
    """

    def __init__(self, settings: BinarySearch, measure: Measure) -> None:
        self._settings = settings
        self._measure = measure
        self._passed: float | None = None
        self._failed: float | None = None
        self._steps = 0

    @property
    def _lower(self) -> float:
        return self._settings.min_rate if self._passed is None else self._passed

    @property
    def _upper(self) -> float:
        return self._settings.max_rate if self._failed is None else self._failed

    def search(self) -> SearchResult:
        while not self._settings.narrow(self._lower, self._upper):
            self._try((self._lower + self._upper) / 2)
        if self._failed is None:
            self._try(self._settings.max_rate)
        if self._passed is None and self._failed != self._settings.min_rate:
            self._try(self._settings.min_rate)
        return SearchResult(
            rate=self._passed or 0.0, lower_bound=self._passed, upper_bound=self._failed, steps=self._steps
        )

    def _try(self, rate: float) -> None:
        self._steps += 1
        tries = self._settings.max_invalid
        try:
            outcome = try_rate(self._measure, Attempt(self._steps, 1, rate, self._lower, self._upper), tries)
        except TesterLimitReached as limit:
            raise TesterLimitReached(rate, tries, limit.invalid, self._passed, self._failed) from limit
        if outcome == Outcome.PASS:
            self._passed = rate
        else:
            self._failed = rate
