# SPDX-License-Identifier: Apache-2.0
"""Compares the experiments that several runs have in common, each run with the first.

A difference exceeds the spread when the medians differ by more than the wider of the two spreads. A spread is maximum −
minimum of the repetitions, or the last bracket of a search if that is wider. The rule assumes no distribution of the
results, and errs towards "no difference".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from natxy.plan.model.terms import TRAFFIC_FIELDS
from natxy.plan.procedures.figures import Figure
from natxy.results.bounded import Bound, Bounded
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary

RULE: Final = (
    "A run differs from the first when their medians differ by more than the wider of the two spreads: maximum − "
    "minimum of the repetitions, or the last bracket of a search if that is wider. A difference within the spread may "
    "be chance. One repetition has no spread: measure at least three. Results of different traffic get no verdict."
)

# Names are no difference in what was measured.
_NAMES: Final = ("name", "title")

Key = tuple[str, str]
"""The name of an experiment or of its sweep, and the cell as JSON."""


class Exceeds(Enum):
    YES = "yes"
    NO = "no"
    ONE_REPETITION = "one repetition, no spread"
    BOUND = "a median is only a bound"
    UNLIKE = "not alike"


@dataclass(frozen=True)
class Compared:
    """Holds one figure of an experiment in one run, and its difference from the first run.

    `spread` is None with one repetition. `difference` and `difference_percent` are None for the first run, and when a
    result is missing or the bounds of the two medians contradict each other; the percentage also when the first median
    is 0. `bound` is that of the difference. `unlike` names the traffic settings that differ from the first run; results
    of different traffic are not compared.
    """

    figure: Figure
    experiment: ExperimentRecord
    run: int
    summary: Summary | None
    spread: float | None
    difference: float | None = None
    difference_percent: float | None = None
    exceeds: Exceeds | None = None
    bound: Bound = Bound.EXACTLY
    unlike: tuple[str, ...] = ()

    @property
    def bounded_spread(self) -> Bounded | None:
        """The spread with its bound; None without a spread, and when minimum and maximum are both bounds."""
        if self.summary is None or self.spread is None:
            return None
        return self.summary.bounded_spread(self.spread)


@dataclass(frozen=True)
class Comparison:
    """Holds what runs have in common and where they differ.

    `figures` has a group for each figure, with one `Compared` a run. `unmatched` has experiments that are not in all
    runs, with the numbers of the runs that have them. `settings` has the settings that differ, a value a run, by the
    title of the experiment and the path of the field.
    """

    figures: list[tuple[Compared, ...]]
    unmatched: list[tuple[ExperimentRecord, tuple[int, ...]]]
    settings: dict[str, dict[str, tuple[str | None, ...]]]


def compare(runs: Sequence[RunRecord]) -> Comparison:
    """Compares experiments that have the same name, or the same sweep and cell, and the same procedure."""
    by_key = [{key(experiment): experiment for experiment in run.experiments} for run in runs]
    figures: list[tuple[Compared, ...]] = []
    unmatched: list[tuple[ExperimentRecord, tuple[int, ...]]] = []
    settings: dict[str, dict[str, tuple[str | None, ...]]] = {}
    for each in dict.fromkeys(each for experiments in by_key for each in experiments):
        found = [(number, experiments[each]) for number, experiments in enumerate(by_key) if each in experiments]
        same = [experiment for _, experiment in found]
        if len(found) < len(runs) or len({experiment.procedure for experiment in same}) > 1:
            unmatched.append((same[0], tuple(number for number, _ in found)))
            continue
        figures.extend(_against_first(figure, same) for figure in same[0].declaration.figures)
        if differing := _differing([settings_of(experiment.planned, *_NAMES) for experiment in same]):
            settings[same[0].title] = differing
    return Comparison(figures, unmatched, settings)


def key(experiment: ExperimentRecord) -> Key:
    """Returns what an experiment has in common with the same experiment in other runs, besides the procedure."""
    return experiment.sweep or experiment.name, json.dumps(experiment.cell, sort_keys=True)


def _against_first(figure: Figure, experiments: Sequence[ExperimentRecord]) -> tuple[Compared, ...]:
    first, *others = (_of_one_run(figure, experiment, run) for run, experiment in enumerate(experiments))
    return (first, *(_difference(first, other) for other in others))


def _of_one_run(figure: Figure, experiment: ExperimentRecord, run: int) -> Compared:
    is_headline = figure == experiment.declaration.headline()
    summary = experiment.statistics if is_headline else experiment.figure_statistics.get(figure.name)
    if is_headline:
        spread = experiment.spread
    else:
        spread = summary.maximum - summary.minimum if summary and summary.count > 1 else None
    return Compared(figure, experiment, run, summary, spread)


def _difference(first: Compared, other: Compared) -> Compared:
    if first.summary is None or other.summary is None:
        return other
    base = first.summary.median
    difference = other.summary.median - base
    bounds = {_bound(other.summary), _bound(first.summary).opposite} - {Bound.EXACTLY}
    if len(bounds) > 1:
        return replace(other, exceeds=Exceeds.BOUND)
    bound = bounds.pop() if bounds else Bound.EXACTLY
    one, another = first.experiment.planned, other.experiment.planned
    unlike = tuple(field for field in TRAFFIC_FIELDS if getattr(one, field) != getattr(another, field))
    return replace(
        other,
        difference=difference,
        difference_percent=100 * difference / base if base else None,
        exceeds=Exceeds.UNLIKE if unlike else _exceeds(first, other, difference, bound),
        bound=bound,
        unlike=unlike,
    )


def _exceeds(first: Compared, other: Compared, difference: float, bound: Bound) -> Exceeds:
    if (bound == Bound.AT_LEAST and difference < 0) or (bound == Bound.AT_MOST and difference > 0):
        return Exceeds.BOUND
    if first.spread is None or other.spread is None:
        return Exceeds.ONE_REPETITION
    if abs(difference) > max(first.spread, other.spread):
        return Exceeds.YES
    return Exceeds.BOUND if bound else Exceeds.NO


def _bound(summary: Summary) -> Bound:
    """Returns the bound of the median. A search that found nothing counts as 0, exactly."""
    bound = summary.bounded_median.bound
    return Bound.EXACTLY if bound == Bound.BELOW else bound


def _differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str | None, ...]]:
    flat = [dict(_flat(each)) for each in settings]
    fields = dict.fromkeys(field for each in flat for field in each)
    values = {field: tuple(each.get(field) for each in flat) for field in fields}
    return {field: row for field, row in values.items() if len(set(row)) > 1}


def _flat(settings: object, path: str = "") -> list[tuple[str, str]]:
    """Returns paths such as `timing.trial` with their values."""
    if not isinstance(settings, Mapping):
        return [(path, _plain(settings))]
    inner = ((f"{path}.{name}" if path else name, value) for name, value in settings.items())
    return [pair for name, value in inner for pair in _flat(value, name)]


def _plain(value: object) -> str:
    """Writes a value as in a plan."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in value.items()) + "}"
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)
