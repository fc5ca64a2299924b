# SPDX-License-Identifier: Apache-2.0
"""What goes into a search and what comes out of it. A search knows rates and outcomes, nothing of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from natxy.errors import NatxyError, TesterLimitError


class Outcome(StrEnum):
    """Of one try of a rate. Two decide nothing: `INVALID` is the tester's failure, and of `UNPREPARED` the rate was
    never sent, since what it takes could not be brought about."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    UNPREPARED = "unprepared"


@dataclass(frozen=True)
class Attempt:
    """One try at a step of a search: a step is one rate that is tried.

    `step` is the step's number in the repetition and `number` the attempt's number within the step; both count from 1.
    `lower` is the highest rate that has passed and `upper` the lowest that has failed, or the limits of the search;
    both are None outside a search by halving. `duration_s` is the length of the trial's traffic if the search decides
    it.
    """

    step: int
    number: int
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
    """No try at `rate` decided anything, at least half of them, `invalid`, by the tester's fault; a search ends without
    a result (`lower_bound` passed, where known)."""

    def __init__(
        self,
        rate: float,
        tries: int,
        invalid: int,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> None:
        super().__init__(f"{invalid} of {tries} tries of the step at {rate:.6g} per second were invalid")
        self.rate = rate
        self.tries = tries
        self.invalid = invalid
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class NeverPrepared(NatxyError):
    """No try at `rate` decided anything, `unprepared` of them, most, for want of what it takes; what is searched has
    no result."""

    def __init__(self, rate: float, tries: int, unprepared: int) -> None:
        super().__init__(f"{unprepared} of {tries} tries of the step at {rate:.6g} per second could not be prepared")
        self.rate = rate
        self.tries = tries
        self.unprepared = unprepared


def try_rate(measure: Measure, first: Attempt, tries: int) -> Outcome:
    """Measures until an outcome decides; after `tries` that didn't, TesterLimitReached where at least half were
    invalid, else NeverPrepared."""
    unprepared = 0
    for number in range(1, tries + 1):
        outcome = measure(replace(first, number=number))
        if outcome in (Outcome.PASS, Outcome.FAIL):
            return outcome
        unprepared += outcome == Outcome.UNPREPARED
    invalid = tries - unprepared
    if invalid >= unprepared:
        raise TesterLimitReached(first.rate, tries, invalid)
    raise NeverPrepared(first.rate, tries, unprepared)
