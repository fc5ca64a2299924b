# SPDX-License-Identifier: Apache-2.0
"""The history of plans: the figures of their experiments from run to run, with changes and levels.

Runs with other traffic are a series of their own, because their results are not comparable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from natxy.history.changes import Change, changes
from natxy.history.levels import Division, Level, Measured, divide
from natxy.history.past import PastExperiment, PastFigure, PastRun
from natxy.plan.model.terms import TRAFFIC_FIELDS
from natxy.plan.model.units import Unit
from natxy.results.records import RunState

_Traffic = tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """Holds one figure in one run. `number` is that of the run in its plan's history, from 1."""

    number: int
    run: PastRun
    experiment: PastExperiment
    figure: PastFigure

    @property
    def complete(self) -> bool:
        """True when the run was carried out to its end."""
        return self.run.state is RunState.DONE


@dataclass(frozen=True)
class Marked:
    """Holds what changed with a run, compared with the experiment's run before."""

    number: int
    run: PastRun
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class ChangePoint:
    """Holds a change of a figure's level from `before`, the last run of the old level, to `after`.

    `once` is True for a single run after which the level is the old one again.
    """

    level: Level
    before: Point
    after: Point
    changes: tuple[Change, ...]
    once: bool

    @property
    def is_better(self) -> bool:
        """True when the figure changed for the better."""
        return (self.level.median > (self.level.before or 0.0)) == self.after.figure.more_is_better


@dataclass(frozen=True)
class Course:
    """Holds a figure from run to run."""

    name: str
    title: str
    unit: Unit
    points: tuple[Point, ...]

    @cached_property
    def division(self) -> Division:
        return divide([Measured(p.figure.median, p.figure.values, p.figure.resolution) for p in self.points])

    @property
    def change_points(self) -> Iterator[ChangePoint]:
        """The changes of level and the single exceptions, in the order of time."""
        found = [(level, False) for level in self.division.levels[1:]]
        found += [(level, True) for level in self.division.outliers]
        for level, once in sorted(found, key=lambda each: each[0].first):
            before, after = self.points[level.first - 1], self.points[level.first]
            changed = changes((before.run, before.experiment), (after.run, after.experiment))
            yield ChangePoint(level, before, after, changed, once)


@dataclass(frozen=True)
class Series:
    """Holds an experiment from run to run, with one kind of traffic.

    `traffic` names the traffic if the experiment has another series with other traffic. The first of `courses` is the
    headline. `missing` has the numbers of the runs in which the experiment has no result, with what became of it.
    """

    experiment: str
    title: str
    procedure: str
    traffic: str
    courses: tuple[Course, ...]
    marks: tuple[Marked, ...]
    missing: tuple[tuple[int, str], ...]

    @property
    def full_title(self) -> str:
        return f"{self.title} ({self.traffic})" if self.traffic else self.title


@dataclass(frozen=True)
class PlanHistory:
    """Holds the runs of a plan in the order of time, and its experiments' series."""

    name: str
    runs: tuple[PastRun, ...]
    series: tuple[Series, ...]

    @property
    def split(self) -> dict[str, list[str]]:
        """The traffic of each series of the experiments that have several, by the title of the experiment."""
        found: dict[str, list[str]] = {}
        for series in self.series:
            if series.traffic:
                found.setdefault(series.title, []).append(series.traffic)
        return found


def histories(runs: Sequence[PastRun]) -> list[PlanHistory]:
    """Returns the history of each plan among `runs`, which are in the order of time; a plan is known by its name."""
    by_plan: dict[str, list[PastRun]] = {}
    for run in runs:
        by_plan.setdefault(run.name, []).append(run)
    return [PlanHistory(name, tuple(own), tuple(_series(own))) for name, own in sorted(by_plan.items())]


_Key = tuple[str, str, str]
_Numbered = tuple[int, PastRun, PastExperiment]


def _series(runs: Sequence[PastRun]) -> Iterator[Series]:
    found: dict[tuple[_Key, _Traffic], list[_Numbered]] = {}
    for number, run in enumerate(runs, 1):
        for experiment in run.experiments:
            key = (experiment.name, experiment.cell, experiment.procedure)
            found.setdefault((key, _traffic(experiment.settings)), []).append((number, run, experiment))
    variants = Counter(key for key, _ in found)
    order = list(dict.fromkeys(key for key, _ in found))
    for (key, traffic), own in sorted(found.items(), key=lambda each: order.index(each[0][0])):
        others = [other for same, other in found if same == key]
        yield _one(own, _traffic_words(traffic, others) if variants[key] > 1 else "")


def _one(runs: Sequence[_Numbered], traffic: str) -> Series:
    *_, (_, _, latest) = runs
    points: dict[str, list[Point]] = {}
    for number, run, experiment in runs:
        for figure in experiment.figures:
            points.setdefault(figure.name, []).append(Point(number, run, experiment, figure))
    courses = (Course(name, own[-1].figure.title, own[-1].figure.unit, tuple(own)) for name, own in points.items())
    return Series(
        experiment=latest.name,
        title=latest.title,
        procedure=latest.procedure,
        traffic=traffic,
        courses=tuple(courses),
        marks=tuple(_marks(runs)),
        missing=tuple(
            (number, f"{experiment.state.value}: {experiment.reason}" if experiment.reason else experiment.state.value)
            for number, _, experiment in runs
            if not experiment.figures
        ),
    )


def _marks(runs: Sequence[_Numbered]) -> Iterator[Marked]:
    for (_, old_run, old), (number, new_run, new) in pairwise(runs):
        if found := changes((old_run, old), (new_run, new)):
            yield Marked(number, new_run, found)


@lru_cache(maxsize=256)
def _traffic(settings: str) -> _Traffic:
    given = json.loads(settings)
    return tuple(str(given.get(field, "")) for field in TRAFFIC_FIELDS)


def _traffic_words(traffic: _Traffic, others: Sequence[_Traffic]) -> str:
    """Names the traffic by the fields in which it differs from others."""
    return ", ".join(
        f"{field.replace('_', ' ')} {value or '–'}"
        for number, (field, value) in enumerate(zip(TRAFFIC_FIELDS, traffic, strict=True))
        if len({other[number] for other in others}) > 1
    )
