# SPDX-License-Identifier: Apache-2.0
"""Judges results by thresholds: met, missed, or undecided while the interval of a result contains the threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from natxy.plan.model.repeat import LEAST_REPEAT
from natxy.plan.model.thresholds import Thresholds, quantity_in
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import Figure
from natxy.results.analysis.compare import (
    SHARE_OF_BASELINE,
    Compared,
    Verdict,
    compared_figures,
    key,
    range_of_median,
    shares_of_baseline,
)
from natxy.results.analysis.repetitions import repetitions_needed
from natxy.results.intervals import Interval
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary


class Answer(StrEnum):
    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judged:
    """Holds a threshold and the answer to it.

    `limit`, `value` and `interval` are in `unit`; with `against`, the name of an earlier run, they are the change from
    that run in percent of it. `from_zero`: the median of the earlier run is 0, and they are the difference from that in
    the figure's unit, which may be no worse than 0. The threshold is met by a value that is `limit` or lies above it,
    or if `is_most` is True, below it. `reason` says why the answer is `undecided`, and `repetitions` how many in each
    run might decide; None if that is unknown or no number will.
    """

    experiment: ExperimentRecord
    figure: Figure
    limit: float
    unit: Unit
    is_most: bool = False
    against: str = ""
    from_zero: bool = False
    value: float | None = None
    interval: Interval | None = None
    answer: Answer = Answer.UNDECIDED
    reason: str = ""
    repetitions: int | None = None


@dataclass(frozen=True)
class Limit:
    """Allows figures to be worse by `percent` than in an earlier run.

    The patterns are of the names of experiments, and of figures; an empty one stands for the headline.
    """

    percent: float
    experiment: str = "*"
    figure: str = ""


_WITHIN: Final = "the interval contains the threshold"
_TOO_CLOSE: Final = "the interval contains the threshold, and repetitions will not decide: the result is too close"
_BRACKET: Final = "the last bracket of the search contains the threshold; a smaller `error` of the search may decide"
_NO_RESULT: Final = "there is no result"
_ONE: Final = "one repetition has no interval"
_BOUND: Final = "results are only bounds; a search with wider limits may decide"


def overall(judged: Sequence[Judged]) -> Answer:
    """Returns `missed` if any threshold is missed, else `undecided` if any is, else `met`."""
    answers = {each.answer for each in judged}
    return next((answer for answer in (Answer.MISSED, Answer.UNDECIDED) if answer in answers), Answer.MET)


def thresholds_of(run: RunRecord) -> dict[str, Thresholds]:
    """Returns what the run's own plan expects of its experiments, by their names."""
    planned = ((experiment.name, experiment.planned.expect) for experiment in run.experiments)
    return {name: expect for name, expect in planned if expect}


def judge_plan(
    run: RunRecord, expected: Mapping[str, Thresholds], read: Callable[[str], RunRecord | None]
) -> list[Judged]:
    """Judges the results of a run by what is expected of its experiments. `read` returns the run in a folder; None if
    there is none, so that what depends on it is undecided."""
    earlier: dict[str, RunRecord | None] = {}
    judged: list[Judged] = []
    for experiment in run.experiments:
        expect = expected.get(experiment.name)
        if expect is None:
            continue
        judged.extend(_judge_alone(experiment, expect))
        if expect.no_worse_than:
            folder, by = expect.no_worse_than.baseline, expect.no_worse_than.by.value
            if folder not in earlier:
                earlier[folder] = read(folder)
            first, headline = earlier[folder], experiment.declaration.headline()
            if first is None:
                asked = _asked(folder, experiment, headline, by)
                judged.append(replace(asked, reason=f"{folder} is not a run that can be read"))
            else:
                judged.append(_judge_change(first, folder, experiment, headline, by))
    return judged


def judge_change(first: RunRecord, name: str, other: RunRecord, limits: Sequence[Limit]) -> list[Judged]:
    """Judges the figures of `other` that `limits` name by those of `first`, a run named `name`.

    Of several limits for a figure, the last one counts. An experiment, or a share of the baseline, that only one of
    the two runs has is undecided.
    """
    found: dict[tuple[bool, int, Figure], Judged] = {}
    gone = [experiment for experiment in first.experiments if not _same(other, experiment)]
    for limit in limits:
        for experiment in other.experiments:
            same = _same(first, experiment)
            for figure in _limited([experiment, *([same] if same else [])], limit):
                judged = _judge_change(first, name, experiment, figure, limit.percent)
                found[False, experiment.id, figure] = judged
        for experiment in gone:
            for figure in _limited([experiment], limit):
                asked = _asked(name, experiment, figure, limit.percent)
                found[True, experiment.id, figure] = replace(asked, reason=f"only {name} has this experiment")
    return list(found.values())


def _same(run: RunRecord, experiment: ExperimentRecord) -> ExperimentRecord | None:
    """Returns the same experiment of another run; None if it has none."""
    same = (each for each in run.experiments if key(each) == key(experiment) and each.procedure == experiment.procedure)
    return next(same, None)


def names_nothing(limit: Limit, runs: Sequence[RunRecord]) -> str:
    """Says what the runs have instead if they have no such experiment or figure; otherwise empty."""
    experiments = [experiment for run in runs for experiment in run.experiments]
    named = [experiment for experiment in experiments if _is_named(experiment, limit)]
    if not named:
        return f"the runs have the experiments {', '.join(dict.fromkeys(each.name for each in experiments))}"
    if any(True for experiment in named for _ in _limited([experiment], limit)):
        return ""
    return f"the figures are {', '.join(figure.name for figure in _figures(named))}"


def _is_named(experiment: ExperimentRecord, limit: Limit) -> bool:
    return any(fnmatchcase(name, limit.experiment) for name in (experiment.name, experiment.sweep or experiment.name))


def _figures(experiments: Sequence[ExperimentRecord]) -> Iterator[Figure]:
    """Yields what any of the experiments has, each figure once."""
    yield from dict.fromkeys(figure for experiment in experiments for figure in experiment.declaration.judged_figures())
    if any(experiment.baseline for experiment in experiments):
        yield SHARE_OF_BASELINE


def _limited(same: Sequence[ExperimentRecord], limit: Limit) -> Iterator[Figure]:
    """Yields the figures of an experiment, as one run or both runs have it, to which the limit applies."""
    if not _is_named(same[0], limit):
        return
    if not limit.figure:
        yield same[0].declaration.headline()
        return
    yield from (figure for figure in _figures(same) if fnmatchcase(figure.name, limit.figure))


def _judge_alone(experiment: ExperimentRecord, expect: Thresholds) -> Iterator[Judged]:
    headline = experiment.declaration.headline()
    for given, is_most in ((expect.at_least, False), (expect.at_most, True)):
        if given is not None:
            limit = quantity_in(headline.unit, given)
            yield _by_median(Judged(experiment, headline, limit, headline.unit, is_most), experiment.statistics)
    for name, share in expect.ratios:
        asked = Judged(experiment, SHARE_OF_BASELINE, share.value, Unit.PERCENT, is_most=name == "ratio_at_most")
        yield _by_median(asked, shares_of_baseline(experiment))


def _by_median(asked: Judged, summary: Summary | None) -> Judged:
    if summary is None:
        return replace(asked, reason=_NO_RESULT)
    asked = replace(asked, value=summary.median, interval=summary.interval)
    if summary.count < 2 and not summary.has_bounds:
        return replace(asked, reason=_ONE, repetitions=LEAST_REPEAT)
    possible = range_of_median(summary)
    if possible is None:
        return replace(asked, reason=_BOUND)
    answer = _answer(asked, possible)
    if answer is not Answer.UNDECIDED:
        return replace(asked, answer=answer)
    if asked.interval is None:
        return replace(asked, reason=_BOUND)
    distance = summary.median - asked.limit
    # An interval reaches up by the bracket.
    margin = max(distance, -distance - summary.resolution)
    return _within(asked, margin, summary.resolution, summary.values)


def _judge_change(first: RunRecord, name: str, experiment: ExperimentRecord, figure: Figure, percent: float) -> Judged:
    asked = _asked(name, experiment, figure, percent)
    same = _same(first, experiment)
    if same is None:
        return replace(asked, reason=f"{name} does not have this experiment")
    for before, now in compared_figures([same, experiment]):
        if now.figure == figure:
            return _by_change(asked, before, now)
    if figure == SHARE_OF_BASELINE and bool(same.baseline) != bool(experiment.baseline):
        lacking = name if experiment.baseline else "this run"
        return replace(asked, reason=f"{lacking} was measured without the baseline; measure that too")
    return replace(asked, reason=_NO_RESULT)


def _asked(name: str, experiment: ExperimentRecord, figure: Figure, percent: float) -> Judged:
    limit = -percent if figure.is_better_when_higher else percent
    return Judged(experiment, figure, limit, Unit.PERCENT, not figure.is_better_when_higher, name)


def _by_change(asked: Judged, first: Compared, other: Compared) -> Judged:
    one, another = first.summary, other.summary
    if one is None or another is None:
        return replace(asked, reason=_NO_RESULT)
    if one.median:
        asked = replace(asked, value=other.difference_percent, interval=other.interval_percent)
    else:
        asked = replace(
            asked, from_zero=True, limit=0.0, unit=asked.figure.unit, value=other.difference, interval=other.interval
        )
    if other.verdict == Verdict.UNLIKE:
        return replace(asked, reason=f"not alike: {', '.join(other.unlike)}")
    if other.verdict == Verdict.ONE_REPETITION:
        return replace(asked, reason=_ONE, repetitions=LEAST_REPEAT)
    unit = abs(one.median) / 100 or 1.0
    if asked.interval is None:
        possible = _possible_change(one, another)
        answer = _answer(asked, possible.of(unit)) if possible else Answer.UNDECIDED
        return replace(asked, answer=answer, reason=_BOUND if answer is Answer.UNDECIDED else "")
    answer = _answer(asked, asked.interval)
    if answer is not Answer.UNDECIDED:
        return replace(asked, answer=answer)
    distance = (asked.value or 0) - asked.limit
    margin, bracket = abs(distance) * unit, one.resolution if distance > 0 else another.resolution
    return _within(asked, margin if margin > bracket else 0.0, bracket, one.values, another.values)


def _within(asked: Judged, margin: float, bracket: float, *groups: Sequence[float]) -> Judged:
    """Says what may decide when the interval contains the threshold, which lies by `margin` outside the bracket."""
    if margin <= 0 < bracket:
        return replace(asked, reason=_BRACKET)
    # A spread estimated from fewer values than this says little about how many it takes.
    least = max(LEAST_REPEAT, *(len(values) + 1 for values in groups))
    repetitions = repetitions_needed(margin, *groups, least=least)
    return replace(asked, reason=_TOO_CLOSE if repetitions is None else _WITHIN, repetitions=repetitions)


def _possible_change(first: Summary, other: Summary) -> Interval | None:
    one, another = range_of_median(first), range_of_median(other)
    return Interval(another.low - one.high, another.high - one.low) if one and another else None


def _answer(asked: Judged, possible: Interval) -> Answer:
    low, high = possible.low, possible.high
    met, missed = (
        (high <= asked.limit, low > asked.limit) if asked.is_most else (low >= asked.limit, high < asked.limit)
    )
    return Answer.MET if met else Answer.MISSED if missed else Answer.UNDECIDED
