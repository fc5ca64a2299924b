# SPDX-License-Identifier: Apache-2.0
"""Finds a loss that comes again and again after the same time, or after the same number of frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from natxy.causes.facts import Facts
from natxy.engine.messages.results import LostBurst, StreamResult
from natxy.plan.model.units import format_duration
from natxy.results.trials import TrialRecord

# Between six bursts at random times, four intervals are like the fifth, or two or three of it, in 1 of 70,000 trials.
_FEWEST: Final = 6
_LACKING: Final = 2
_LIKE: Final = 0.05
# A burst that overflows a queue begins a little earlier at higher rates, and frames are due at whole intervals.
_FRAMES_A_PERIOD: Final = 20


@dataclass(frozen=True)
class Period:
    """Holds how far apart the bursts of a loss begin: seconds if `timed`, otherwise frames of a stream; and how many
    frames a burst loses."""

    length: float
    timed: bool
    lost: int

    def lost_what(self, what: str) -> str:
        """Returns a clause on what is lost, a plural, such as `every 16th frame is lost`."""
        if not self.timed:
            number = round(self.length)
            ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
            return f"every {number:,}{ending} {what.removesuffix('s')} is lost"
        again = f"every {format_duration(float(f'{self.length:.3g}'))}"
        return f"about {self.lost:,} {what} are lost {again}" if self.lost > 1 else f"one of the {what} is lost {again}"


def period(facts: Facts) -> Period | None:
    """Returns the period of a loss that is the same at two rates at least, the lowest among them; None if there is
    none.

    At a single rate, a gateway that is a little too slow loses its frames as regularly.
    """
    return next(filter(None, (_period(facts, timed) for timed in (True, False))), None)


def _period(facts: Facts, timed: bool) -> Period | None:
    by_rate: dict[float, list[TrialRecord]] = {}
    for trial in facts.failures:
        by_rate.setdefault(trial.rate_fps, []).append(trial)
    found = {rate: _of_trials(trials, timed) for rate, trials in by_rate.items()}
    lowest = found[min(found)]
    alike = [each for each in found.values() if each and lowest and abs(each - lowest) <= _LIKE * lowest]
    if lowest is None or len(alike) < 2:
        return None
    bursts = [burst.lost for stream in _lossy(facts.lowest) for burst in stream.lost_bursts]
    return Period(lowest, timed, round(median(bursts)))


def _lossy(trials: Iterable[TrialRecord]) -> list[StreamResult]:
    return [stream for trial in trials for stream in trial.result.streams if stream.lost]


def _of_trials(trials: Iterable[TrialRecord], timed: bool) -> float | None:
    """Returns the period that all streams of some trials have; None if one of them has none or another one."""
    found = [_of_bursts(stream.lost_bursts, stream.intended_rate_fps, timed) for stream in _lossy(trials)]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or max(known) > (1 + _LIKE) * min(known):
        return None
    return median(known)


def _of_bursts(bursts: Sequence[LostBurst], rate_fps: float, timed: bool) -> float | None:
    """Returns how far apart bursts begin; None if they are too few, or not equally far apart."""
    if len(bursts) < _FEWEST:
        return None
    if not timed:
        # A counter of frames does not err.
        steps = {later.sequence - earlier.sequence for earlier, later in pairwise(bursts)}
        return float(min(steps)) if len(steps) == 1 else None
    steps_s = [later.due_s - earlier.due_s for earlier, later in pairwise(bursts)]
    middle = median(steps_s)
    regular = all(
        round(step / middle) in range(1, _LACKING + 2) and abs(step - round(step / middle) * middle) <= _LIKE * middle
        for step in steps_s
    )
    return middle if regular and middle * rate_fps >= _FRAMES_A_PERIOD else None
