# SPDX-License-Identifier: Apache-2.0
"""Statistics that several columns of a terminal have room for."""

from __future__ import annotations

from typing import Final

from natxy.report.words import states, wording
from natxy.results.records import ExperimentRecord

STATISTICS: Final = ("Median", "p1", "p99", "Min", "Max", "Disp.", "N")
SPREAD: Final = ("Median", "Min", "Max", "Disp.", "N")


def tight(cell: str) -> str:
    """A bound close to its number."""
    return cell[0] + cell[2:] if cell.startswith(("≥ ", "≤ ", "< ", "> ")) else cell


def statistics(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `STATISTICS`."""
    median, *others = spread(experiment)
    summary = experiment.statistics
    if summary is None:
        return (median, wording.ABSENT, wording.ABSENT, *others)
    percentiles = (
        summary.shown(value, lambda v: wording.short(v, experiment.unit)) for value in (summary.p1, summary.p99)
    )
    return (median, *map(tight, percentiles), *others)


def spread(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `SPREAD`."""
    summary = experiment.statistics
    shown = [wording.ABSENT] * 4
    if summary is not None:

        def abbreviated(value: float) -> str:
            return wording.short(value, experiment.unit)

        extremes = (summary.shown(value, abbreviated) for value in (summary.minimum, summary.maximum))
        shown = [summary.shown_median(abbreviated), *extremes, wording.dispersion(summary)]
    return (*map(tight, shown), states.repetitions(experiment))
