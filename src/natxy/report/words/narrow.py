# SPDX-License-Identifier: Apache-2.0
"""Statistics that several columns of a terminal have room for."""

from __future__ import annotations

from typing import Final

from natxy.report.words import states, wording
from natxy.results.bounded import Bounded
from natxy.results.records import ExperimentRecord

STATISTICS: Final = ("Median", "p1", "p99", "Min", "Max", "Disp.", "N")
SPREAD: Final = ("Median", "Min", "Max", "Disp.", "N")


def statistics(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `STATISTICS`."""
    median, *others = spread(experiment)
    summary = experiment.statistics
    if summary is None:
        return (median, wording.ABSENT, wording.ABSENT, *others)
    percentiles = (_short(summary.bounded(value), experiment.unit) for value in (summary.p1, summary.p99))
    return (median, *percentiles, *others)


def spread(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `SPREAD`."""
    summary = experiment.statistics
    shown = [wording.ABSENT] * 4
    if summary is not None:
        values = (summary.bounded_median, summary.bounded(summary.minimum), summary.bounded(summary.maximum))
        shown = [*(_short(value, experiment.unit) for value in values), wording.dispersion(summary, gap="")]
    return (*shown, states.repetitions(experiment))


def _short(value: Bounded, unit: str) -> str:
    return value.text(lambda plain: wording.short(plain, unit), gap="")
