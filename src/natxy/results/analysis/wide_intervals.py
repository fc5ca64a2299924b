# SPDX-License-Identifier: Apache-2.0
"""Finds intervals that are too wide to decide from, and the likely cause in the records of their repetitions.

The causes are tried in the order of `_causes`, and the first that fits is reported:

`Resolution`: at least half of the interval is the bracket that the search ended with.
`Corrupted`: at least half of the failed trials lost no frames but corrupt ones.
`Disturbed`: the machine disturbed at least a tenth of the trials in any way that `Counts` knows, or the repetitions
without such a trial agree twice as well as all of them.
`Slowed`: the gateway's core was slow on average, compared with its highest speed in the run (`core_speed`).
`TwoLevels`: the results form two groups, two thirds of their range apart.
`Drift`: the results rise or fall with the number of the repetition (Kendall's rank correlation, 5 %).
`Few`: fewer repetitions than the method by ranks needs.

`Unexplained` is what remains: the gateway itself varies, or something does that no record shows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.results.analysis.core_speed import CoreSpeed, core_speed, highest_speeds
from natxy.results.analysis.disturbances import Counts, counts
from natxy.results.analysis.repetitions import repetitions_needed
from natxy.results.analysis.trend import chance_of_trend
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, State
from natxy.results.statistics import Summary

WIDE: Final = 0.05
"""An interval is wide when half of it exceeds this share of its median."""
MOST_REPETITIONS: Final = 50
"""More repetitions than this are not recommended against a wide interval."""

# Nobody decides by more digits of a share.
_DIGITS: Final = 3
_CORRUPTED_TRIALS: Final = 0.5
_DISTURBED_TRIALS: Final = 0.1
_AGREE_BETTER: Final = 0.5
# Six values of a normal distribution are this far apart in one of fifty cases, more values less often.
_LEVELS_APART: Final = 2 / 3
_LEAST_FOR_LEVELS: Final = 6
# Five values rise or fall all the way by chance in one of sixty cases.
_LEAST_FOR_DRIFT: Final = 5
_CHANCE: Final = 0.05
_LEAST_FOR_RANKS: Final = 6


@dataclass(frozen=True)
class Resolution:
    """`bracket` is the width of the search's last bracket as a share of the median."""

    bracket: float


@dataclass(frozen=True)
class Corrupted:
    """Holds how many trials of an experiment failed, and how many of these by corrupt frames alone."""

    failed: int
    by_corruption: int

    @property
    def mostly(self) -> bool:
        return self.by_corruption > 0 and self.by_corruption >= _CORRUPTED_TRIALS * self.failed


@dataclass(frozen=True)
class Disturbed:
    """Holds the counts of the experiment's trials, and in how many `repetitions` the machine disturbed one."""

    counts: Counts
    repetitions: int


@dataclass(frozen=True)
class Slowed:
    speed: CoreSpeed


@dataclass(frozen=True)
class TwoLevels:
    """Holds the medians of the two groups and how many results each has.

    `since` is the repetition with which the level changed for good, None when it changed to and fro.
    """

    low: float
    low_count: int
    high: float
    high_count: int
    since: int | None


@dataclass(frozen=True)
class Drift:
    """`change` is from the first third of the repetitions to the last, as a share of the median."""

    change: float


@dataclass(frozen=True)
class Few:
    count: int


@dataclass(frozen=True)
class Unexplained:
    pass


Cause = Resolution | Corrupted | Disturbed | Slowed | TwoLevels | Drift | Few | Unexplained


@dataclass(frozen=True)
class WideInterval:
    """Holds an experiment whose median has a wide interval.

    `half` is half the width as a share of the median. `repetitions_needed` is the number whose interval would not be
    wide if they vary as those measured do, None above `MOST_REPETITIONS`.
    """

    experiment: ExperimentRecord
    half: float
    cause: Cause
    repetitions_needed: int | None


def wide_intervals(run: RunRecord) -> list[WideInterval]:
    highest_hz = highest_speeds(placed.trial for placed in run.all_trials)
    return [found for experiment in run.experiments if (found := wide_interval(experiment, highest_hz))]


def corruption(repetitions: Sequence[RepetitionRecord]) -> Corrupted:
    """Counts the trials of these repetitions that failed, and those of them that failed by corrupt frames alone."""
    failed = [trial for each in repetitions for trial in each.trials if trial.failed]
    return Corrupted(len(failed), sum(trial.failed_by_corruption for trial in failed))


def wide_interval(experiment: ExperimentRecord, highest_hz: Mapping[int, float]) -> WideInterval | None:
    """Returns None when the interval is not wide, or the headline has none. A figure that may be negative has no share
    of its median.

    `highest_hz` are the `highest_speeds` of the run.
    """
    summary = experiment.statistics
    if summary is None or summary.interval is None or summary.signed or summary.median <= 0:
        return None
    half = (summary.interval.high - summary.interval.low) / 2 / summary.median
    if round(half, _DIGITS) <= WIDE:
        return None
    measured = [each for each in experiment.repetitions if each.state is State.DONE and each.value is not None]
    cause = next(_causes(summary, measured, highest_hz), Unexplained())
    margin = WIDE * summary.median
    needed = repetitions_needed(margin, summary.values, resolution=summary.resolution, most=MOST_REPETITIONS)
    return WideInterval(experiment, half, cause, needed)


def _causes(
    summary: Summary, repetitions: Sequence[RepetitionRecord], highest_hz: Mapping[int, float]
) -> Iterator[Cause]:
    """Yields the causes that fit, the likeliest first."""
    assert summary.interval is not None  # the caller's is wide
    values = [each.value for each in repetitions if each.value is not None]
    if summary.resolution >= (summary.interval.high - summary.interval.low) / 2:
        yield Resolution(summary.resolution / summary.median)
    if (corrupted := corruption(repetitions)).mostly:
        yield corrupted
    if disturbed := _disturbed(repetitions):
        yield disturbed
    speed = core_speed((trial for repetition in repetitions for trial in repetition.trials), highest_hz)
    if speed and speed.slowed:
        yield Slowed(speed)
    if levels := _two_levels(repetitions):
        yield levels
    if len(values) >= _LEAST_FOR_DRIFT and _trend_is_no_chance(values):
        third = max(len(values) // 3, 1)
        change = statistics.median(values[-third:]) - statistics.median(values[:third])
        yield Drift(change / summary.median)
    if len(values) < _LEAST_FOR_RANKS:
        yield Few(len(values))


def _disturbed(repetitions: Sequence[RepetitionRecord]) -> Disturbed | None:
    counted = counts([trial for each in repetitions for trial in each.trials])
    if not counted.touched:
        return None
    touched = [counts(each.trials).touched > 0 for each in repetitions]
    found = Disturbed(counted, sum(touched))
    values = [(each.value, away) for each, away in zip(repetitions, touched, strict=True) if each.value is not None]
    every, quiet = [value for value, _ in values], [value for value, away in values if not away]
    agree = len(quiet) > 1 and statistics.stdev(quiet) <= _AGREE_BETTER * statistics.stdev(every)
    return found if agree or counted.touched >= _DISTURBED_TRIALS * counted.trials else None


def _two_levels(repetitions: Sequence[RepetitionRecord]) -> TwoLevels | None:
    ordered = sorted(each.value for each in repetitions if each.value is not None)
    if len(ordered) < _LEAST_FOR_LEVELS or ordered[0] == ordered[-1]:
        return None
    # A single result on its own is no level.
    split = max(range(2, len(ordered) - 1), key=lambda index: ordered[index] - ordered[index - 1])
    low, high = ordered[:split], ordered[split:]
    if high[0] - low[-1] < _LEVELS_APART * (ordered[-1] - ordered[0]):
        return None
    is_high = [each.value is not None and each.value >= high[0] for each in repetitions]
    changes = [number for number in range(1, len(is_high)) if is_high[number] != is_high[number - 1]]
    since = repetitions[changes[0]].number if len(changes) == 1 else None
    return TwoLevels(statistics.median(low), len(low), statistics.median(high), len(high), since)


def _trend_is_no_chance(values: Sequence[float]) -> bool:
    return chance_of_trend(values) < _CHANCE
