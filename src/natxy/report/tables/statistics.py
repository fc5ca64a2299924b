# SPDX-License-Identifier: Apache-2.0
"""Rows and narrow cells that summarize the repetitions of experiments with the same headline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from natxy.plan.procedures.figures import applies
from natxy.report.words import headlines, states, wording
from natxy.results.bounded import Bounded
from natxy.results.intervals import MOST_RANKED, Interval, is_by_ranks
from natxy.results.records import ExperimentRecord
from natxy.results.statistics import LEAST_FOR_PERCENTILES, Summary

Row = tuple[str, ...]
_Statistic = Callable[[Summary], Bounded | None]

MEDIAN: Final = "Median"
_MEDIAN: Final[_Statistic] = lambda summary: summary.bounded_median  # noqa: E731
_MEAN: Final[_Statistic] = lambda summary: summary.bounded_mean  # noqa: E731
_EXTREMES: Final[tuple[tuple[str, _Statistic], ...]] = (
    ("Minimum", lambda summary: summary.bounded(summary.minimum)),
    ("Maximum", lambda summary: summary.bounded(summary.maximum)),
)
_STATISTICS: Final[tuple[tuple[str, _Statistic], ...]] = (
    ("1st percentile", lambda summary: summary.bounded(summary.p1)),
    ("99th percentile", lambda summary: summary.bounded(summary.p99)),
    *_EXTREMES,
)
INTERVAL: Final = "95 % confidence interval"
_TOO_FEW: Final = "too few repetitions"
_BY_RANKS: Final = (
    "The 95 % interval of six or more repetitions is that of their pseudo-median, the median of the averages of "
    "all pairs, by signed ranks (Hodges and Lehmann 1963). It is the median's if the results are symmetric."
)
_OF_FEW: Final = (
    "The 95 % interval of fewer than six repetitions is that of their mean by Student's t (1908), which assumes "
    "a normal distribution: so few have none of the median."
)
_OF_MANY: Final = (
    f"The 95 % interval of more than {MOST_RANKED:,} repetitions is that of their mean by Student's t (1908): the mean "
    "of so many is normally distributed."
)
_METHODS: Final = (_BY_RANKS, _OF_FEW, _OF_MANY)
_WIDENED: Final = "Each is widened to contain the median, and upwards by the bracket that a search ended with."
NARROW_SPREAD: Final = ("Median", "95 %", "Min", "Max", "Disp.", "N")
NARROW_STATISTICS: Final = ("Median", "95 %", "p1", "p99", "Min", "Max", "Disp.", "N")


# --- rows, a cell for each experiment


def statistics_rows(experiments: Sequence[ExperimentRecord]) -> list[Row]:
    """Returns the statistics of the headline, in the order of RFC 9693 §6."""
    reports_mean = any(experiment.declaration.reports_mean for experiment in experiments)
    rows: list[Row] = [
        ("Number of repetitions", *(states.repetitions(experiment) for experiment in experiments)),
        (MEDIAN, *(_median(experiment, directions=1) for experiment in experiments)),
        (INTERVAL, *(_interval(experiment.statistics, experiment.unit) for experiment in experiments)),
    ]
    statistics = (("Mean", _MEAN), *_STATISTICS) if reports_mean else _STATISTICS
    rows.extend(
        (label, *(_cell(e.statistics, statistic, e.unit) for e in experiments)) for label, statistic in statistics
    )
    if reports_mean:
        rows.append(("Standard deviation", *map(_deviation, experiments)))
    dispersions = (wording.dispersion(e.statistics) if e.statistics else wording.ABSENT for e in experiments)
    rows.append(("Dispersion (max − min) / median", *dispersions))
    if any(headlines.share_of_maximum(experiment) != wording.ABSENT for experiment in experiments):
        rows.append(("Median of the theoretical maximum", *map(headlines.share_of_maximum, experiments)))
    return rows


def percentiles_note(experiments: Sequence[ExperimentRecord]) -> str:
    """Explains the percentiles of few repetitions, which RFC 9693 §6 asks for; empty if there are many."""
    summaries = [experiment.statistics for experiment in experiments if experiment.statistics]
    if not summaries or not all(summary.percentiles_are_extremes for summary in summaries):
        return ""
    few = f"With fewer than {LEAST_FOR_PERCENTILES} repetitions"
    return f"{few} the 1st percentile is the minimum and the 99th the maximum."


def intervals_note(experiments: Sequence[ExperimentRecord], *, headlines_only: bool = False) -> str:
    """States what the shown intervals of these experiments are intervals of; empty if there are none."""
    summaries = [each.statistics for each in experiments]
    if not headlines_only:
        summaries += [summary for each in experiments for summary in each.figure_statistics.values()]
    methods = {_method(summary.count) for summary in summaries if summary and summary.shown_interval}
    return " ".join([*sorted(methods, key=_METHODS.index), _WIDENED]) if methods else ""


def _method(count: int) -> str:
    if is_by_ranks(count):
        return _BY_RANKS
    return _OF_MANY if count > MOST_RANKED else _OF_FEW


def further_rows(experiments: Sequence[ExperimentRecord], *, extremes: bool = False) -> Iterator[Row]:
    """Yields the medians, or means, of the figures besides the headline, with `extremes` also minima and maxima.

    Figures that apply to none of the experiments are left out.
    """
    statistics = [("mean", _MEAN) if experiments[0].declaration.reports_mean else ("median", _MEDIAN)]
    if extremes:
        statistics += [(label.lower(), statistic) for label, statistic in _EXTREMES]
    for figure in dict.fromkeys(figure for experiment in experiments for figure in experiment.declaration.figures[1:]):
        summaries = [experiment.figure_statistics.get(figure.name) for experiment in experiments]
        sent = [e for e in experiments if applies(figure, e.planned.directions)]
        if not any(figure.name in repetition.figures for e in sent for repetition in e.repetitions):
            continue
        for label, statistic in statistics:
            cells = (_cell(summary, statistic, figure.unit) for summary in summaries)
            yield (f"{figure.title}, {wording.unit(figure.unit)}, {label}", *cells)
        if any(summary and summary.interval for summary in summaries):
            ends = (_interval(summary, figure.unit) for summary in summaries)
            yield (f"{figure.title}, {wording.unit(figure.unit)}, {INTERVAL}", *ends)


def aggregate_rows(experiments: Sequence[ExperimentRecord]) -> Iterator[Row]:
    """Yields the sum of both directions, for rates per direction of bidirectional traffic."""
    if any(headlines.per_direction(e) and headlines.directions(e) == 2 for e in experiments):
        aggregates = (_median(experiment, headlines.directions(experiment)) for experiment in experiments)
        yield ("Median, aggregate of both directions", *aggregates)


def _cell(summary: Summary | None, statistic: _Statistic, unit: str) -> str:
    return wording.bounded(statistic(summary), unit) if summary else wording.ABSENT


def _interval(summary: Summary | None, unit: str) -> str:
    if summary and summary.interval and not summary.shown_interval:
        return _TOO_FEW
    return wording.interval(summary.shown_interval if summary else None, unit)


def _deviation(experiment: ExperimentRecord) -> str:
    deviation = experiment.statistics.exact_deviation if experiment.statistics else None
    return wording.ABSENT if deviation is None else wording.quantity(deviation, experiment.unit)


def _median(experiment: ExperimentRecord, directions: int) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    median = experiment.statistics.bounded_median
    return wording.bounded(replace(median, value=directions * median.value), experiment.unit)


# --- narrow cells of one experiment, of which several fit into a terminal


def narrow_statistics(experiment: ExperimentRecord) -> Row:
    """Returns the cells of the columns `NARROW_STATISTICS`."""
    median, interval, *others = narrow_spread(experiment)
    summary = experiment.statistics
    if summary is None:
        return (median, interval, wording.ABSENT, wording.ABSENT, *others)
    percentiles = (_short(summary.bounded(value), experiment.unit) for value in (summary.p1, summary.p99))
    return (median, interval, *percentiles, *others)


def narrow_spread(experiment: ExperimentRecord) -> Row:
    """Returns the cells of the columns `NARROW_SPREAD`."""
    summary = experiment.statistics
    cells = [wording.ABSENT] * 5
    if summary is not None:
        values = (summary.bounded_median, summary.bounded(summary.minimum), summary.bounded(summary.maximum))
        median, *extremes = (_short(value, experiment.unit) for value in values)
        interval = narrow_interval(summary, lambda shown: wording.short_interval(shown, experiment.unit))
        cells = [median, interval, *extremes, wording.dispersion(summary, gap="")]
    return (*cells, states.repetitions(experiment))


def narrow_interval(summary: Summary, show: Callable[[Interval | None], str]) -> str:
    """Returns the interval as `show` writes it; instead of one that tells nothing, that the repetitions are too few."""
    return "too few" if summary.interval and not summary.shown_interval else show(summary.shown_interval)


def _short(value: Bounded, unit: str) -> str:
    return value.text(lambda plain: wording.short(plain, unit), gap="")
