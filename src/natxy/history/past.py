# SPDX-License-Identifier: Apache-2.0
"""The part of a run that its plan's history needs: figures, versions and settings, without trials."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.model.units import Unit
from natxy.results.bounded import Bound, Bounded
from natxy.results.intervals import Interval, of_median
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState, State

RATIO: Final = "ratio"
"""The name of the figure that has the ratio to the baseline, in percent."""

# Facts about a tester's machine that may change its results.
_MACHINE: Final = ("host", "processor", "cores", "system", "kernel")
# Names are no difference in what was measured, and the others are kept apart.
_NO_SETTINGS: Final = ("name", "title", "sweep", "cell")


@dataclass(frozen=True)
class PastFigure:
    """Holds one figure of an experiment: a value for each repetition that has one, their median and its interval.

    `bound` relates the truth to the median. `resolution` is the width of the widest bracket that a search ended with.
    """

    name: str
    title: str
    unit: Unit
    values: tuple[float, ...]
    median: float
    bound: Bound
    interval: Interval | None
    resolution: float = 0.0


@dataclass(frozen=True)
class PastExperiment:
    """Holds one experiment of a run.

    `name` is that of the sweep for a cell of one, and `cell` has its coordinates. `settings` and `gateway` are JSON
    objects as text: the settings in the plan, and the version and the settings that the gateway reported. The headline
    is the first of `figures`, if it has a value.
    """

    name: str
    title: str
    cell: str
    procedure: str
    state: State
    reason: str
    baseline: str | None
    settings: str
    gateway: str
    figures: tuple[PastFigure, ...]


@dataclass(frozen=True)
class PastRun:
    """Holds a run without its trials. `machine` has the facts about the tester's machine that may change results."""

    folder: str
    name: str
    started_at: str
    state: RunState
    seed: str
    natxy_version: str
    machine: Mapping[str, str]
    experiments: tuple[PastExperiment, ...]


def past_run(folder: str, run: RunRecord) -> PastRun:
    return PastRun(
        folder=folder,
        name=run.name,
        started_at=run.started_at,
        state=run.state,
        seed=str(run.seed),
        natxy_version=run.natxy_version,
        machine={fact: run.machine[fact] for fact in _MACHINE if fact in run.machine},
        experiments=tuple(map(_experiment, run.experiments)),
    )


def _experiment(record: ExperimentRecord) -> PastExperiment:
    return PastExperiment(
        name=record.sweep or record.name,
        title=record.title,
        cell=_text(record.cell),
        procedure=record.procedure,
        state=record.state,
        reason=record.reason,
        baseline=record.baseline.title if record.baseline else None,
        settings=_text(settings_of(record.planned, *_NO_SETTINGS)),
        gateway=_text({"version": record.dut["version"], **record.dut["settings"]} if record.dut else {}),
        figures=tuple(_figures(record)),
    )


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _figures(record: ExperimentRecord) -> Iterator[PastFigure]:
    headline, *others = record.declaration.figures
    if record.statistics:
        median, resolution = record.statistics.bounded_median, _resolution(record)
        yield _figure(headline.name, headline.title, headline.unit, tuple(record.values), median, resolution)
    yield from _ratio(record)
    for figure in others:
        summary = record.figure_statistics.get(figure.name)
        values = tuple(
            value
            for repetition in record.repetitions
            if repetition.measured and (value := repetition.figures.get(figure.name)) is not None
        )
        if summary and values:
            yield _figure(figure.name, figure.title, figure.unit, values, summary.bounded_median)


def _ratio(record: ExperimentRecord) -> Iterator[PastFigure]:
    """Yields the ratio to the baseline, which repetitions of the same number make together."""
    found = record.baseline_ratio
    if record.baseline is None or found is None:
        return
    baselines = {repetition.number: repetition.value for repetition in _measured(record.baseline)}
    values = tuple(
        100 * repetition.value / baseline
        for repetition in _measured(record)
        if repetition.value is not None and (baseline := baselines.get(repetition.number))
    )
    if values:
        title = f"Share of {record.baseline.title}"
        yield _figure(RATIO, title, Unit.PERCENT, values, Bounded(statistics.median(values), found.bound))


def _measured(record: ExperimentRecord) -> Iterator[RepetitionRecord]:
    return (repetition for repetition in record.repetitions if repetition.state is State.DONE)


def _resolution(record: ExperimentRecord) -> float:
    return max((repetition.bracket for repetition in _measured(record)), default=0.0)


def _figure(
    name: str, title: str, unit: Unit, values: tuple[float, ...], median: Bounded, resolution: float = 0.0
) -> PastFigure:
    interval = None if median.bound else of_median(values, resolution)
    return PastFigure(name, title, unit, values, median.value, median.bound, interval, resolution)
