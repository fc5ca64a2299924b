# SPDX-License-Identifier: Apache-2.0
"""Finds a loss that comes again and again after the same time, or after the same number of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from natxy.causes.facts import Facts
from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.results import LostBurst, StreamResult
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.burst import BurstConfig
from natxy.results.trials import TrialRecord

# Of random bursts, five intervals are alike, or two or three times as long where bursts are lacking, in fewer than 1 of
# 50,000 trials: each of four is within 5 % of the median, or of its double or triple, with a probability of 0.061.
_FEWEST: Final = 6
# Elsewhere, each interval like the one that was found is as unlikely.
_FEWEST_ALIKE: Final = 3
_MOST_LACKING: Final = 2
_TOLERANCE: Final = 0.05
# The share of an interval that the spacing of frames blurs is small then.
_FRAMES_A_PERIOD: Final = 20
# A gateway that is a little too slow loses its frames as regularly, but at another interval at another rate.
_RATES_APART: Final = 2


@dataclass(frozen=True)
class Period:
    """Holds how far apart the bursts of a loss begin: seconds if `timed`, otherwise frames of a stream. A burst loses
    `lost` frames, of all streams together."""

    length: float
    timed: bool
    lost: int

    def lost_what(self, facts: Facts) -> str:
        """Returns a clause such as `every 16th frame is lost`."""
        direction = f" in the direction {facts.only_direction}" if facts.only_direction else ""
        if not self.timed:
            number = round(self.length)
            ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
            return f"every {number:,}{ending} {facts.what.removesuffix('s')} is lost{direction}"
        again = f"every {format_duration(float(f'{self.length:.3g}'))}{direction}"
        if self.lost > 1:
            return f"about {self.lost:,} {facts.what} are lost {again}"
        return f"one {facts.what.removesuffix('s')} is lost {again}"


def period(facts: Facts) -> Period | None:
    """Returns the period of a loss that is the same at the lowest rate and at another one at least twice as high; None
    if there is none."""
    # Its traffic is periodic itself.
    if isinstance(facts.experiment.procedure, BurstConfig):
        return None
    if stride := _same(facts, lambda stream: stream.lost_stride, tolerance=0):
        return Period(stride, timed=False, lost=1)
    many = any(len(stream.lost_bursts) >= _FEWEST for stream in _lossy(facts.lowest))
    if many and (length_s := _same(facts, _interval_s, _TOLERANCE)):
        streams = _lossy([facts.typical])
        lost = sum(median(burst.lost for burst in stream.lost_bursts) for stream in streams)
        return Period(length_s, timed=True, lost=round(lost))
    return None


def _same(facts: Facts, of_stream: Callable[[StreamResult], float | None], tolerance: float) -> float | None:
    """Returns the length that all streams which lost frames have at the lowest rate, and at a rate far above it."""
    lengths = {rate: _common([*map(of_stream, _lossy(trials))], tolerance) for rate, trials in facts.by_rate.items()}
    lowest = lengths[min(lengths)]
    if lowest is None:
        return None
    alike = [rate for rate, length in lengths.items() if length and abs(length - lowest) <= tolerance * lowest]
    return lowest if max(alike) >= _RATES_APART * min(lengths) else None


def _common(lengths: Sequence[float | None], tolerance: float) -> float | None:
    """Returns the length that all streams have; None if they have different lengths, or if a stream has none."""
    known = [length for length in lengths if length is not None]
    if not known or len(known) < len(lengths) or max(known) > (1 + tolerance) * min(known):
        return None
    return median(known)


def _lossy(trials: Iterable[TrialRecord]) -> list[StreamResult]:
    streams = (stream for trial in trials for stream in trial.result.streams)
    return [stream for stream in streams if stream.lost and stream.role != StreamRole.BACKGROUND]


def _interval_s(stream: StreamResult) -> float | None:
    """Returns the time from the beginning of a burst to that of the next; None if it varies, or bursts are too few."""
    bursts: Sequence[LostBurst] = stream.lost_bursts
    if len(bursts) < _FEWEST_ALIKE:
        return None
    intervals_s = [later.due_s - earlier.due_s for earlier, later in pairwise(bursts)]
    middle_s = median(intervals_s)
    multiples = [max(1, round(each / middle_s)) for each in intervals_s]
    regular = all(
        multiple <= _MOST_LACKING + 1 and abs(each - multiple * middle_s) <= _TOLERANCE * middle_s
        for each, multiple in zip(intervals_s, multiples, strict=True)
    )
    return middle_s if regular and middle_s * stream.intended_rate_fps >= _FRAMES_A_PERIOD else None
