# SPDX-License-Identifier: Apache-2.0
"""The input and the result of a search. A search handles rates and outcomes, and has no notion of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from natxy.errors import NatxyError, TesterLimitError


class Outcome(StrEnum):
    """The outcome of an attempt.

    Four outcomes decide nothing: `INVALID` is the tester's failure; `DISTURBED` that of the gateway's machine, whose
    core ran something else; `UNPREPARED` means that the rate was not sent, because its preparation, such as phase 1,
    failed; `INVALID_PREPARATION` that the tester failed in this preparation already.
    """

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    DISTURBED = "disturbed"
    UNPREPARED = "unprepared"
    INVALID_PREPARATION = "invalid preparation"


@dataclass(frozen=True)
class Attempt:
    """One attempt at a step of a search: a step is one rate that is tried.

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


@dataclass(frozen=True)
class Sample:
    """The result of one trial: `frames` sent in the direction that lost most, of which `lost` were lost.

    `disturbed`: it decides although a disturbance of the gateway's machine explains it, because nothing else does.
    `by_loss`: if it failed, it would have passed with a greater loss allowed.
    """

    outcome: Outcome
    frames: int
    lost: int
    disturbed: bool = False
    by_loss: bool = True


@dataclass(frozen=True)
class Tried:
    """A trial that decided: it lost the share `lost` of its frames, those of `lost_s` seconds.

    `number` is its place among the trials of the search.
    """

    number: int
    rate: float
    passed: bool
    lost: float
    lost_s: float = 0.0


@dataclass(frozen=True)
class Contradiction:
    """Two trials, of which `worse` lost more although its rate is no higher than that of `better`."""

    worse: Tried
    better: Tried


Measure = Callable[[Attempt], Outcome]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    `lower_bound` is the highest rate that passed, None when none did. `upper_bound` is the lowest that failed, None
    when none did; the true rate is then at least `lower_bound`. `conditional_rate` is MLRsearch's conditional
    throughput: the rate that arrived in the decisive trials at `lower_bound`. `unsent_rate` is the lowest rate that the
    tester could not send, below which the search went on; None when it sent every rate that was tried. `overcome` holds
    trials that contradict each other although the bounds passed and failed once more. `partial_lower_bound`
    and `partial_upper_bound` are those of a search's second goal, which allows more loss.
    """

    lower_bound: float | None
    upper_bound: float | None
    steps: int
    conditional_rate: float | None = None
    unsent_rate: float | None = None
    overcome: Contradiction | None = None
    partial_lower_bound: float | None = None
    partial_upper_bound: float | None = None

    @property
    def rate(self) -> float:
        """The highest rate that passed, 0 when none did."""
        return self.lower_bound or 0.0


class TesterLimitReached(TesterLimitError):
    """Reports that no attempt at `rate` was decisive and that at least half of them, `invalid`, failed by the tester.

    Where it ends a search, that has no result; `lower_bound` has passed, where it is known. `at_rate` is False if most
    of them failed in the preparation, so that a lower rate changes nothing.
    """

    def __init__(self, rate: float, attempts: int, invalid: int, *, at_rate: bool = True) -> None:
        super().__init__(f"{invalid} of {attempts} attempts at {rate:.6g} per second were invalid")
        self.rate = rate
        self.attempts = attempts
        self.invalid = invalid
        self.lower_bound: float | None = None
        self.upper_bound: float | None = None
        self.at_rate = at_rate


class NeverPrepared(NatxyError):
    """Reports that no attempt at `rate` was decisive and that most of them, `unprepared`, could not be prepared.

    The search has no result.
    """

    def __init__(self, rate: float, attempts: int, unprepared: int) -> None:
        super().__init__(f"{unprepared} of {attempts} attempts at {rate:.6g} per second could not be prepared")
        self.attempts = attempts
        self.unprepared = unprepared


def decisive(measure: Callable[[Attempt], Sample], first: Attempt, attempts: int) -> Sample:
    """Measures as `try_rate` does; returns the sample that decides, with the outcome that it decides on."""
    samples: list[Sample] = []

    def once(attempt: Attempt) -> Outcome:
        samples.append(measure(attempt))
        return samples[-1].outcome

    outcome = try_rate(once, first, attempts)
    # A disturbed failure decides if nothing else does, and need not be the last attempt.
    found = next(sample for sample in reversed(samples) if sample.outcome in (outcome, Outcome.DISTURBED))
    return replace(found, outcome=outcome, disturbed=found.outcome == Outcome.DISTURBED)


def try_rate(measure: Measure, first: Attempt, attempts: int) -> Outcome:
    """Measures until an attempt is decisive, and returns its outcome; the attempts are numbered from `first` on.

    After this many `attempts` without one, a failure that was disturbed decides after all. If there was none,
    TesterLimitReached if at least half of the attempts were invalid, NeverPrepared otherwise.
    """
    outcomes: list[Outcome] = []
    for again in range(attempts):
        outcome = measure(replace(first, number=first.number + again))
        if outcome in (Outcome.PASS, Outcome.FAIL):
            return outcome
        outcomes.append(outcome)
    if Outcome.DISTURBED in outcomes:
        return Outcome.FAIL
    at_rate, before = outcomes.count(Outcome.INVALID), outcomes.count(Outcome.INVALID_PREPARATION)
    invalid, unprepared = at_rate + before, outcomes.count(Outcome.UNPREPARED)
    if invalid >= unprepared:
        raise TesterLimitReached(first.rate, attempts, invalid, at_rate=at_rate >= before)
    raise NeverPrepared(first.rate, attempts, unprepared)
