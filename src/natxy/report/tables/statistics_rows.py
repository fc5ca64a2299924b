# SPDX-License-Identifier: Apache-2.0
"""The rows that sum up repeated measurements: a cell an experiment, all of one headline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from natxy.plan.procedures.figures import applies
from natxy.report.words import headlines, states, wording
from natxy.results.records import ExperimentRecord
from natxy.results.statistics import LEAST_FOR_PERCENTILES, Summary

Row = tuple[str, ...]

MEDIAN: Final = "Median"

_Pick = Callable[[Summary], float]
_MEDIAN: Final[tuple[str, _Pick]] = ("median", lambda summary: summary.median)
_MEAN: Final[tuple[str, _Pick]] = ("mean", lambda summary: summary.mean)
_EXTREMES: Final[tuple[tuple[str, _Pick], ...]] = (
    ("Minimum", lambda summary: summary.minimum),
    ("Maximum", lambda summary: summary.maximum),
)
_STATISTICS: Final[tuple[tuple[str, _Pick], ...]] = (
    ("1st percentile", lambda summary: summary.p1),
    ("99th percentile", lambda summary: summary.p99),
    *_EXTREMES,
)


def statistics_rows(experiments: Sequence[ExperimentRecord]) -> list[Row]:
    """Of the headline, in the order of RFC 9693 §4.10."""
    rows: list[Row] = [
        ("Number of repetitions", *(states.repetitions(experiment) for experiment in experiments)),
        (MEDIAN, *(_median(experiment, directions=1) for experiment in experiments)),
    ]
    picks = _STATISTICS
    if any(experiment.declaration.reports_mean for experiment in experiments):
        picks = (("Mean", _MEAN[1]), *_STATISTICS)
    rows.extend((label, *(_statistic(e.statistics, pick, e.unit) for e in experiments)) for label, pick in picks)
    dispersions = (wording.dispersion(e.statistics) if e.statistics else wording.ABSENT for e in experiments)
    if any(experiment.declaration.reports_mean for experiment in experiments):
        rows.append(("Standard deviation", *map(_deviation, experiments)))
    rows.append(("Dispersion (max − min) / median", *dispersions))
    if any(headlines.share_of_maximum(experiment) != wording.ABSENT for experiment in experiments):
        rows.append(("Median of the theoretical maximum", *map(headlines.share_of_maximum, experiments)))
    return rows


def percentiles_note(experiments: Sequence[ExperimentRecord]) -> str:
    """What RFC 9693 §4.10 asks for says nothing new of a few repetitions; empty where it does."""
    summaries = [experiment.statistics for experiment in experiments if experiment.statistics]
    if not summaries or not all(summary.percentiles_are_extremes for summary in summaries):
        return ""
    return f"Of fewer than {LEAST_FOR_PERCENTILES} repetitions the 1st percentile is the minimum, the 99th the maximum."


def further_rows(experiments: Sequence[ExperimentRecord], *, extremes: bool = False) -> Iterator[Row]:
    """The medians of what is measured besides the headline, or the means where these are asked for; their extremes on
    demand. What applies to none of them is left out."""
    picks = [_MEAN if experiments[0].declaration.reports_mean else _MEDIAN]
    if extremes:
        picks += [(label.lower(), pick) for label, pick in _EXTREMES]
    for figure in dict.fromkeys(figure for experiment in experiments for figure in experiment.declaration.figures[1:]):
        summaries = [experiment.figure_statistics.get(figure.name) for experiment in experiments]
        sent = [e for e in experiments if applies(figure, e.planned.directions)]
        if not any(figure.name in repetition.figures for e in sent for repetition in e.repetitions):
            continue
        for label, pick in picks:
            values = (_statistic(summary, pick, figure.unit) for summary in summaries)
            yield (f"{figure.title}, {wording.unit(figure.unit)}, {label}", *values)


def aggregate_rows(experiments: Sequence[ExperimentRecord]) -> Iterator[Row]:
    """For rates per direction of traffic in both."""
    if any(headlines.per_direction(e) and headlines.directions(e) == 2 for e in experiments):
        aggregates = (_median(experiment, headlines.directions(experiment)) for experiment in experiments)
        yield ("Median, aggregate of both directions", *aggregates)


def _statistic(summary: Summary | None, pick: _Pick, unit: str) -> str:
    if summary is None:
        return wording.ABSENT
    if pick is _MEDIAN[1]:
        return wording.bounded(summary.bounded_median, unit)
    if pick is _MEAN[1]:
        return wording.bounded(summary.bounded_mean, unit)
    return wording.bounded(summary.bounded(pick(summary)), unit)


def _deviation(experiment: ExperimentRecord) -> str:
    deviation = experiment.statistics.exact_deviation if experiment.statistics else None
    return wording.ABSENT if deviation is None else wording.quantity(deviation, experiment.unit)


def _median(experiment: ExperimentRecord, directions: int) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    return experiment.statistics.bounded_median.text(
        lambda value: wording.quantity(directions * value, experiment.unit)
    )
