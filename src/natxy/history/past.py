# SPDX-License-Identifier: Apache-2.0
"""The part of a run that its plan's history needs: figures, versions and settings, without trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.model.units import Unit
from natxy.results.analysis.compare import SHARE_OF_BASELINE, shares_of_baseline
from natxy.results.bounded import Bound
from natxy.results.intervals import Interval
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RunRecord, RunState, State

# Facts about a tester's machine that may change its results.
_MACHINE: Final = ("host", "processor", "cores", "system", "kernel")
# Names and thresholds are no difference in what was measured, and the others are kept apart.
_NO_SETTINGS: Final = ("name", "title", "expect", "sweep", "cell")


@dataclass(frozen=True)
class PastFigure:
    """Holds one figure of an experiment: a value for each repetition that has one, their median and its interval.

    `shown_interval` is the interval, or None where it tells a reader nothing. `bound` relates the truth to the median.
    `resolution` is the width of the widest bracket that a search ended with.
    """

    name: str
    title: str
    unit: Unit
    more_is_better: bool
    values: tuple[float, ...]
    median: float
    bound: Bound
    interval: Interval | None
    shown_interval: Interval | None
    resolution: float


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
        gateway=_text(record.reported),
        figures=tuple(_figures(record)),
    )


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _figures(record: ExperimentRecord) -> Iterator[PastFigure]:
    """Yields the figures that have a value: the headline, the share of the baseline, and the others."""
    headline, *others = record.declaration.judged_figures()
    share = shares_of_baseline(record)
    for figure, summary in (
        (headline, record.statistics),
        (SHARE_OF_BASELINE, share),
        *((figure, record.summary_of(figure)) for figure in others),
    ):
        if summary is not None:
            median = summary.bounded_median
            yield PastFigure(
                name=figure.name,
                title=f"Share of {record.baseline.title}" if summary is share and record.baseline else figure.title,
                unit=figure.unit,
                more_is_better=figure.is_better_when_higher,
                values=summary.values,
                median=median.value,
                bound=median.bound,
                interval=summary.interval,
                shown_interval=summary.shown_interval,
                resolution=summary.resolution,
            )
