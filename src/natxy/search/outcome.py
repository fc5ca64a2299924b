# SPDX-License-Identifier: Apache-2.0
"""What goes into a search and what comes out of it. A search knows rates and outcomes, nothing of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from natxy.errors import TesterLimitError


class Outcome(StrEnum):
    """Of one trial at one rate. `INVALID` is the tester's failure and decides nothing."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"


@dataclass(frozen=True)
class Attempt:
    """A rate to be tried: the `number`-th step's `retry`-th try, both from 1.

    `lower` is the highest rate that passed and `upper` the lowest that failed, or the search's limits; None where
    nothing is searched, or not by halving. `duration_s`: of the trial's traffic, where the search decides that.
    """

    number: int
    retry: int
    rate: float
    lower: float | None = None
    upper: float | None = None
    duration_s: float | None = None


Measure = Callable[[Attempt], Outcome]


@dataclass(frozen=True)
class SearchResult:
    """`rate` is the highest that passed, 0 when none did. `lower_bound` is None when none passed, `upper_bound` when
    none failed: then the true rate is at least `rate`. `conditional_rate`: MLRsearch's conditional throughput, what of
    `rate` arrived in the trials that count."""

    rate: float
    lower_bound: float | None
    upper_bound: float | None
    steps: int
    conditional_rate: float | None = None


class TesterLimitReached(TesterLimitError):
    """Every try at `rate` was invalid; a search ends without a result (`lower_bound` passed, where known)."""

    def __init__(
        self, rate: float, tries: int, lower_bound: float | None = None, upper_bound: float | None = None
    ) -> None:
        super().__init__(f"all {tries} tries of the step at {rate:.6g} per second were invalid")
        self.rate = rate
        self.tries = tries
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


def try_rate(measure: Measure, first: Attempt, tries: int) -> Outcome:
    """Measures until an outcome is valid; TesterLimitReached after `tries` that were not."""
    for retry in range(1, tries + 1):
        outcome = measure(replace(first, retry=retry))
        if outcome != Outcome.INVALID:
            return outcome
    raise TesterLimitReached(first.rate, tries)
