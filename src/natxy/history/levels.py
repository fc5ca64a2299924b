# SPDX-License-Identifier: Apache-2.0
"""Divides the medians of a series of runs into levels, and states how far one level lies from the one before.

The levels are those of jumpavg, by which FD.io CSIT finds regressions: the division that takes the fewest bits to
describe, if the medians of a level are normally distributed. A level that cannot be told from the one before by a 95 %
confidence interval is joined to it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import jumpavg

from natxy.results.intervals import Interval, shift_interval

# jumpavg takes time by the square of the number of medians. In a longer series it looks at so many at once; of the
# level before them it then knows the mean and the deviation, but does not divide it any more.
_AT_ONCE: Final = 100
_STEP: Final = 20
# So many runs on each side of a change decide how large it is.
_COMPARED: Final = 30
# jumpavg's own resolution, in bits for the highest value.
_RESOLUTION_BITS: Final = 13


@dataclass(frozen=True)
class Measured:
    """Holds the median of a run, the values of its repetitions, and the bracket that their searches ended with."""

    median: float
    values: tuple[float, ...]
    resolution: float


_Part = Sequence[Measured]


@dataclass(frozen=True)
class Level:
    """Holds consecutive runs with one level: the number of the first, how many they are, and the median of medians.

    `before` is the median of the level before, None for the first level. `shift_percent` and `interval_percent` are in
    percent of it, and None where it is 0; so is the interval where one of the two levels has a single repetition.
    """

    first: int
    count: int
    median: float
    before: float | None = None
    interval_percent: Interval | None = None

    @property
    def shift_percent(self) -> float | None:
        return 100 * (self.median - self.before) / abs(self.before) if self.before else None


@dataclass(frozen=True)
class Division:
    """Holds the levels of a series in the order of time, and the runs that are single exceptions within a level.

    An exception is a level of its own in `outliers`, related to the one that it lies in.
    """

    levels: tuple[Level, ...]
    outliers: tuple[Level, ...]


def divide(series: Sequence[Measured]) -> Division:
    """Returns the levels of a series, none of an empty one."""
    if not series:
        return Division((), ())
    parts = _distinct(_groups(series))
    outliers: list[Level] = []
    joined = [parts[0]]
    for number, part in enumerate(parts[1:], 1):
        if len(part) > 1 and len(joined) > 1 and len(joined[-1]) == 1 and not _differ(joined[-2], part):
            outliers.append(_level(_first(parts, number - 1), joined.pop(), joined[-1]))
            joined[-1] = [*joined[-1], *parts[number - 1], *part]
        else:
            joined.append(part)
    levels = [_level(0, joined[0], None)]
    levels += [_level(_first(joined, number), joined[number], joined[number - 1]) for number in range(1, len(joined))]
    return Division(tuple(levels), tuple(outliers))


def _groups(series: Sequence[Measured]) -> Iterator[_Part]:
    start = 0
    for count in _counts([each.median for each in series]):
        yield series[start : start + count]
        start += count


def _distinct(parts: Iterable[_Part]) -> list[_Part]:
    """Joins each part to the one before unless they differ."""
    found: list[_Part] = []
    for part in parts:
        if found and not _differ(found[-1], part):
            found[-1] = [*found[-1], *part]
        else:
            found.append(part)
    return found


def _first(parts: Sequence[_Part], number: int) -> int:
    return sum(map(len, parts[:number]))


def _level(first: int, own: _Part, before: _Part | None) -> Level:
    median = _median(own)
    if before is None:
        return Level(first, len(own), median)
    base, shift = _median(before), _shift(before, own)
    # Of 0 there is no percentage, and a hundredth of the smallest numbers is 0.
    percent = abs(base) / 100
    return Level(first, len(own), median, base, shift.of(percent) if shift and percent else None)


def _median(level: _Part) -> float:
    return statistics.median(each.median for each in level)


def _differ(before: _Part, own: _Part) -> bool:
    """Returns whether the interval excludes 0. Two single repetitions have none, and no difference is known of them."""
    shift = _shift(before, own)
    return shift is not None and 0.0 not in shift


def _shift(before: _Part, own: _Part) -> Interval | None:
    before, own = before[-_COMPARED:], own[:_COMPARED]
    return shift_interval(_sample(before), _sample(own), _resolution(before), _resolution(own))


def _sample(level: _Part) -> Sequence[float]:
    """Returns the medians of the runs, or the repetitions of a single run."""
    return level[0].values if len(level) == 1 else [each.median for each in level]


def _resolution(level: _Part) -> float:
    return max(each.resolution for each in level)


def _counts(medians: Sequence[float]) -> list[int]:
    """Returns how many medians each of jumpavg's groups has."""
    unit = max(medians) / (2**_RESOLUTION_BITS - 1)
    # jumpavg knows no negative values, and none so small that their unit is 0.
    if min(medians) == max(medians) or min(medians) < 0 or unit == 0:
        return [len(medians)]
    done: list[int] = []
    last: list[float] = []
    for part in _parts(medians):
        older, recent = last[:-_STEP], last[-_STEP:]
        groups = jumpavg.classify([*([older] if older else []), *recent, *part], unit=unit)
        sizes = [group.stats.size for group in groups]
        done += sizes[:-1]
        last = [*last, *part][-sizes[-1] :]
    return [*done, len(last)]


def _parts(medians: Sequence[float]) -> Iterator[Sequence[float]]:
    if len(medians) <= _AT_ONCE:
        yield medians
        return
    yield from (medians[start : start + _STEP] for start in range(0, len(medians), _STEP))
