# SPDX-License-Identifier: Apache-2.0
"""Compares the experiments that several runs have in common, each run with the first.

The effect is the difference of the medians with its 95 % confidence interval, from the unpaired repetitions of the two
runs. The share of a baseline is compared as well. If a run was measured in blocks, repetitions of the same number are
paired within it, so that what disturbs both experiments of a block cancels.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from natxy.plan.model.terms import TRAFFIC_FIELDS
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import Figure
from natxy.results.analysis.ratios import paired_ratios, unpaired_ratios
from natxy.results.bounded import Bound
from natxy.results.intervals import Interval, shift_interval
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary

RULE: Final = (
    "In brackets: the 95 % confidence interval of the difference, from the repetitions of both runs and the last "
    "brackets of their searches. A run differs from the first when the interval excludes 0; otherwise no difference "
    "was found, and the interval says how large one may be. One repetition has no interval, and few have a wide one: "
    "measure at least six. Results of different traffic get no verdict."
)

SHARE_OF_BASELINE: Final = Figure("baseline_ratio", "Share of the baseline", Unit.PERCENT, more_is_better=True)

# Names and thresholds are no difference in what was measured.
_NOT_MEASURED: Final = ("name", "title", "expect")

Key = tuple[str, str]
"""The name of an experiment or of its sweep, and the cell as JSON."""


class Verdict(StrEnum):
    DIFFERS = "differs"
    NONE_FOUND = "none found"
    ONE_REPETITION = "one repetition"
    BOUND = "a bound"
    UNLIKE = "not alike"


@dataclass(frozen=True)
class Compared:
    """Holds one figure of an experiment in one run, and its difference from the first run.

    `difference` and `difference_percent` are None for the first run, and when a result is missing or the bounds of the
    two medians contradict each other; the percentage also when the first median is 0. `bound` is that of the
    difference. `interval` is that of the difference, None unless both runs have two repetitions or more without bounds.
    `unlike` names the traffic settings that differ from the first run; results of different traffic are not compared.
    """

    figure: Figure
    experiment: ExperimentRecord
    run: int
    summary: Summary | None
    difference: float | None = None
    difference_percent: float | None = None
    interval: Interval | None = None
    interval_percent: Interval | None = None
    verdict: Verdict | None = None
    bound: Bound = Bound.EXACTLY
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Holds what runs have in common and where they differ.

    `figures` has a group for each figure, with one `Compared` a run. `unmatched` has experiments that are not in all
    runs, with the numbers of the runs that have them; `unmatched_shares` those of which only some runs have a share of
    the baseline, likewise. `settings` has the settings that differ, a value a run, by the title of the
    experiment and the path of the field.
    """

    figures: list[tuple[Compared, ...]]
    unmatched: list[tuple[ExperimentRecord, tuple[int, ...]]]
    unmatched_shares: list[tuple[ExperimentRecord, tuple[int, ...]]]
    settings: dict[str, dict[str, tuple[str | None, ...]]]


def compare(runs: Sequence[RunRecord]) -> Comparison:
    """Compares experiments that have the same name, or the same sweep and cell, and the same procedure."""
    by_key = [{key(experiment): experiment for experiment in run.experiments} for run in runs]
    figures: list[tuple[Compared, ...]] = []
    unmatched: list[tuple[ExperimentRecord, tuple[int, ...]]] = []
    unmatched_shares: list[tuple[ExperimentRecord, tuple[int, ...]]] = []
    settings: dict[str, dict[str, tuple[str | None, ...]]] = {}
    for each in dict.fromkeys(each for experiments in by_key for each in experiments):
        found = [(number, experiments[each]) for number, experiments in enumerate(by_key) if each in experiments]
        same = [experiment for _, experiment in found]
        if len(found) < len(runs) or len({experiment.procedure for experiment in same}) > 1:
            unmatched.append((same[0], tuple(number for number, _ in found)))
            continue
        figures.extend(compared_figures(same))
        sharing = tuple(number for number, experiment in found if shares_of_baseline(experiment))
        if 0 < len(sharing) < len(runs):
            unmatched_shares.append((same[0], sharing))
        if different := differing([settings_of(experiment.planned, *_NOT_MEASURED) for experiment in same]):
            settings[same[0].title] = different
    return Comparison(figures, unmatched, unmatched_shares, settings)


def key(experiment: ExperimentRecord) -> Key:
    """Returns what an experiment has in common with the same experiment in other runs, besides the procedure."""
    return experiment.sweep or experiment.name, json.dumps(experiment.cell, sort_keys=True)


def compared_figures(experiments: Sequence[ExperimentRecord]) -> Iterator[tuple[Compared, ...]]:
    """Yields the figures of an experiment in several runs, compared with the first, and its share of a baseline."""
    for figure in experiments[0].declaration.judged_figures():
        yield _against_first(figure, experiments, [experiment.summary_of(figure) for experiment in experiments])
    shares = [shares_of_baseline(experiment) for experiment in experiments]
    if all(shares):
        yield _against_first(SHARE_OF_BASELINE, experiments, shares)


def shares_of_baseline(experiment: ExperimentRecord) -> Summary | None:
    """Summarizes the experiment's share of its baseline in percent, by the method of its `baseline_ratio`.

    None without a baseline, and when there is no ratio.
    """
    if experiment.baseline is None:
        return None
    percents = {number: headline.times(100) for number, headline in experiment.headlines.items()}
    ratios = paired_ratios if experiment.in_blocks else unpaired_ratios
    return ratios(percents, experiment.baseline.headlines)


def _against_first(
    figure: Figure, experiments: Sequence[ExperimentRecord], summaries: Sequence[Summary | None]
) -> tuple[Compared, ...]:
    pairs = zip(experiments, summaries, strict=True)
    first, *others = (Compared(figure, experiment, run, summary) for run, (experiment, summary) in enumerate(pairs))
    return (first, *(_difference(first, other) for other in others))


def _difference(first: Compared, other: Compared) -> Compared:
    if first.summary is None or other.summary is None:
        return other
    base = first.summary.median
    difference = other.summary.median - base
    bounds = {_bound(other.summary), _bound(first.summary).opposite} - {Bound.EXACTLY}
    if len(bounds) > 1:
        return replace(other, verdict=Verdict.BOUND)
    one, another = first.experiment.planned, other.experiment.planned
    unlike = tuple(field for field in TRAFFIC_FIELDS if getattr(one, field) != getattr(another, field))
    interval = _interval(first.summary, other.summary)
    if interval and not first.figure.signed:
        # A figure that is never negative cannot fall by more than itself.
        interval = Interval(max(interval.low, -base), interval.high)
    return replace(
        other,
        difference=difference,
        difference_percent=100 * difference / abs(base) if base else None,
        interval=interval,
        interval_percent=interval.of(abs(base) / 100) if interval and base else None,
        verdict=Verdict.UNLIKE if unlike else _verdict(first.summary, other.summary, interval),
        bound=bounds.pop() if bounds else Bound.EXACTLY,
        unlike=unlike,
    )


def _interval(first: Summary, other: Summary) -> Interval | None:
    if first.has_bounds or other.has_bounds:
        return None
    return shift_interval(first.values, other.values, first.resolution, other.resolution)


def _verdict(first: Summary, other: Summary, interval: Interval | None) -> Verdict:
    if min(first.count, other.count) < 2:
        return Verdict.ONE_REPETITION
    if interval:
        return Verdict.NONE_FOUND if 0 in interval else Verdict.DIFFERS
    one, another = range_of_median(first), range_of_median(other)
    apart = one and another and (one.high < another.low or another.high < one.low)
    return Verdict.DIFFERS if apart else Verdict.BOUND


def range_of_median(summary: Summary) -> Interval | None:
    """Returns the values that the true median may have, without an end where it is a bound; None when unknown."""
    median = summary.bounded_median
    match median.bound:
        case Bound.AT_LEAST:
            return Interval(median.value, math.inf)
        case Bound.AT_MOST | Bound.BELOW:
            return Interval(-math.inf, median.value)
        case _:
            return summary.interval


def _bound(summary: Summary) -> Bound:
    """Returns the bound of the median. A search that found nothing counts as 0, exactly."""
    bound = summary.bounded_median.bound
    return Bound.EXACTLY if bound == Bound.BELOW else bound


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str | None, ...]]:
    """Returns the fields that differ, by paths such as `timing.trial`, with a value for each of `settings`."""
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
