# SPDX-License-Identifier: Apache-2.0
"""Finds results of one run that cannot both be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.model.search import Goal
from natxy.results.analysis.compare import range_of_median
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RunRecord

# Each trial of the first procedure passes one of the second before it goes on, so that its rate cannot be higher.
_CONTAINED: Final = {"validated-connection-rate": "connection-rate"}
# Settings that may differ between the two.
_FREE: Final = (
    "name", "title", "sweep", "cell", "procedure", "alpha", "search", "repeat", "max_invalid", "baseline", "expect",
)  # fmt: skip


@dataclass(frozen=True)
class Contradiction:
    """Holds an experiment whose rate is above that of `contained`, a part of each of its trials."""

    experiment: ExperimentRecord
    contained: ExperimentRecord


def contradictions(run: RunRecord) -> list[Contradiction]:
    """Returns the experiments of equal traffic through equal gateways whose intervals exclude each other."""
    return [
        Contradiction(experiment, other)
        for experiment in run.experiments
        for other in run.experiments
        if _CONTAINED.get(experiment.procedure) == other.procedure
        and _conditions(experiment) == _conditions(other)
        and _is_above(experiment, other)
    ]


def _conditions(experiment: ExperimentRecord) -> tuple[dict[str, Any], Goal | None]:
    """Returns the settings that decide the rate, with the goal of the search, but not its limits."""
    search = experiment.planned.search
    return settings_of(experiment.planned, *_FREE), search.goal if search else None


def _is_above(experiment: ExperimentRecord, other: ExperimentRecord) -> bool:
    if experiment.statistics is None or other.statistics is None:
        return False
    own, others = map(range_of_median, (experiment.statistics, other.statistics))
    return own is not None and others is not None and own.low > others.high
