# SPDX-License-Identifier: Apache-2.0
"""Finds trials that cannot all be true of a gateway that stays as it is, and has a search try its bounds again.

Such a gateway loses no greater share at a lower rate than at a higher one. So two trials contradict each other if the
one at the lower rate, or at the same, lost more. Of two failures, chance may make one lose up to twice as much as the
other, or let half as much arrive, with one percent of the frames more or less, and never a tenth of them. A failure at
a rate that passed may be one accident, such as a pause of the gateway's core, until it lost most of its frames.

An ordinary search has no such trials, and is no longer for it. Where one has, or where the gateway forwards much less
at the rate that failed than at the one that passed, as when it has died, the search tries its bounds again at its end.
The rate that passed comes first, unless it did so after the failure already: if it loses much now, the search has no
result, and if it loses a little, as near the limit of any gateway, the search goes on below. Then comes the rate that
failed: if it passes after all, an accident has rejected it, and the search goes on above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from natxy.errors import NatxyError
from natxy.search.outcome import Contradiction, Outcome, Sample, Tried

# A gateway loses no more than this share where it forwarded everything: in overload, or at a rate near its limit when
# that is tried again.
_NEAR_ITS_LIMIT: Final = 0.25
# An accident loses less than this share of a trial, or lasts less long.
_MOST: Final = 0.5
_ACCIDENT_S: Final = 0.02
# By chance a failure may lose so many times as much as one at a higher rate, and so much more.
_TIMES: Final = 2
_MORE: Final = 0.01
# This is more than chance, whatever the factor.
_MUCH_MORE: Final = 0.1
# A search whose bounds do not hold more often does not end by itself.
_MOST_ACCIDENTS: Final = 3


class Contradicted(NatxyError):
    """Reports that trials contradict each other although the bounds were tried again. The search has no result.

    `note` says what else is known, as the end of a sentence.
    """

    def __init__(self, contradiction: Contradiction, note: str = "") -> None:
        worse, better = contradiction.worse, contradiction.better
        super().__init__(
            f"{100 * worse.lost:.3g} % was lost at {worse.rate:.6g} per second, but {100 * better.lost:.3g} % at "
            f"{better.rate:.6g} per second{note}"
        )
        self.contradiction = contradiction
        self.note = note


Again = Callable[[float], Sample]
"""Tries a rate once more and returns what decides it."""


class Bounds(Enum):
    """Says whether the bounds of a search are to be believed, or which one was otherwise when it was tried again."""

    HOLD = auto()
    PASSED_FAILS = auto()
    FAILED_PASSES = auto()


@dataclass
class Trials:
    """Keeps the trials of a search that decided.

    `lowest` is the search's lowest rate. `forgiving`: the rate that passed is believed if it loses only a little when
    it is tried again, instead of being a bound that does not hold. `overcome` is a contradiction that is none of the
    bounds: both hold, although a trial at the rate that passed, or below, lost most of its frames.
    """

    lowest: float = 0.0
    forgiving: bool = False
    overcome: Contradiction | None = None
    _tried: list[Tried] = field(default_factory=list)
    _accidents: int = 0

    def add(self, rate: float, sample: Sample) -> Tried:
        """Adds a trial. What a disturbance of the gateway's machine explains contradicts nothing, and is left out."""
        lost = sample.lost / sample.frames if sample.frames else 0.0
        tried = Tried(len(self._tried), rate, sample.outcome == Outcome.PASS, lost, sample.lost / rate)
        if not sample.disturbed:
            self._tried.append(tried)
        return tried

    def settle(self, passed: float | None, failed: float | None, again: Again) -> Bounds:
        """Tries the bounds of a search again if they are in doubt. Contradicted if they cannot be settled so."""
        if failed is not None and (doubted := self._doubted(passed, failed)):
            passed_since = any(each.passed and each.number > doubted.number for each in self._tried)
            if passed is not None and not passed_since and not self._holds(passed, again):
                return Bounds.PASSED_FAILS
            tried = self._again(failed, again)
            if tried.passed:
                self._count(Contradiction(doubted, tried))
                return Bounds.FAILED_PASSES
            if passed is None:
                self._refuse(tried)
        if passed is not None and self.overcome is None and (worse := self._lost_most(passed)):
            if not self._holds(passed, again):
                return Bounds.PASSED_FAILS
            self.overcome = Contradiction(worse, self._tried[-1])
        return Bounds.HOLD

    def passed_below(self, rate: float) -> float | None:
        """Returns the highest rate below this one that passed when it was tried last; None if none did."""
        last = {each.rate: each.passed for each in self._tried if each.rate < rate}
        return max((rate for rate, passed in last.items() if passed), default=None)

    def failed_above(self, rate: float) -> float | None:
        """Returns the lowest rate above this one that failed; None if none did."""
        return min((each.rate for each in self._failures() if each.rate > rate), default=None)

    def contradiction(self, worse: Tried) -> Contradiction | None:
        """Returns the trial at a higher rate, or at the same one, that contradicts a failure most; None without one."""
        better = [each for each in self._tried if each.rate >= worse.rate and _contradict(worse, each)]
        return Contradiction(worse, min(better, key=lambda each: each.lost)) if better else None

    def _doubted(self, passed: float | None, failed: float) -> Tried | None:
        """Returns the trial at the upper bound that lost least, if even that one lost too much to be believed."""
        least = min((each for each in self._failures() if each.rate == failed), key=_lost, default=None)
        if least is None:
            return None
        above = self._least_above(failed)
        forwards_less = passed is not None and failed * (1 - least.lost) < (1 - _NEAR_ITS_LIMIT) * passed
        return least if forwards_less or (above and _contradict(least, above)) else None

    def _refuse(self, lowest: Tried) -> None:
        """Raises Contradicted if the lowest rate, where none passed, still loses more than all higher ones."""
        above = self._least_above(lowest.rate)
        if above and lowest.lost > above.lost + _MUCH_MORE:
            raise Contradicted(Contradiction(lowest, above))

    def _least_above(self, rate: float) -> Tried | None:
        """Returns the failure at a higher rate that lost least; None without one."""
        return min((each for each in self._failures() if each.rate > rate), key=_lost, default=None)

    def _holds(self, passed: float, again: Again) -> bool:
        """Tries the rate that passed again; returns False if it fails by a little. Contradicted if it fails by much, or
        if the search has no lower rate."""
        before = max((each for each in self._tried if each.passed and each.rate == passed), key=_number, default=None)
        tried = self._again(passed, again)
        if tried.passed or before is None:
            return True
        contradiction = Contradiction(tried, before)
        if tried.lost >= _NEAR_ITS_LIMIT:
            raise Contradicted(contradiction)
        if self.forgiving:
            return True
        if passed <= self.lowest:
            raise Contradicted(contradiction)
        self._count(contradiction)
        return False

    def _count(self, contradiction: Contradiction) -> None:
        """Counts a bound that does not hold. Contradicted after too many."""
        self._accidents += 1
        if self._accidents > _MOST_ACCIDENTS:
            raise Contradicted(contradiction)

    def _lost_most(self, passed: float) -> Tried | None:
        """Returns the trial that lost most at a rate that has passed, or below one, if no accident explains it."""
        blows = (each for each in self._failures() if each.rate <= passed and _is_no_accident(each))
        return max(blows, key=_lost, default=None)

    def _failures(self) -> Iterable[Tried]:
        return (each for each in self._tried if not each.passed)

    def _again(self, rate: float, again: Again) -> Tried:
        return self.add(rate, again(rate))


def _contradict(worse: Tried, better: Tried) -> bool:
    if worse.passed or better.passed:
        return better.passed and not worse.passed and _is_no_accident(worse)
    arrived, usual = 1 - worse.lost, 1 - better.lost
    more_lost = worse.lost > min(_TIMES * better.lost + _MORE, better.lost + _MUCH_MORE)
    return more_lost or _TIMES * (arrived + _MORE) < usual


def _is_no_accident(tried: Tried) -> bool:
    return tried.lost >= _MOST and tried.lost_s >= _ACCIDENT_S


def _lost(tried: Tried) -> float:
    return tried.lost


def _number(tried: Tried) -> int:
    return tried.number
