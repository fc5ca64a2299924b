# SPDX-License-Identifier: Apache-2.0
"""Makes records of experiments from the results of their repetitions, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from natxy.plan.procedures import DECLARATIONS
from natxy.results.planned import planned_experiment
from natxy.results.records import ExperimentRecord, RepetitionRecord, State
from natxy.results.trials import TrialRecord
from tests.support.sample_runs import settings


def experiment(
    values: Sequence[float],
    *,
    bracket: float = 0.0,
    trials: Mapping[int, Sequence[TrialRecord]] | None = None,
    **planned: Any,
) -> ExperimentRecord:
    """Returns an experiment with a repetition for each value.

    `bracket` is the width of the bracket that each search ended with; `trials` are those of a repetition, by its
    number.
    """
    given = settings(repeat=max(len(values), 1), **planned)
    procedure = given["procedure"]
    if "search" not in DECLARATIONS[procedure if isinstance(procedure, str) else procedure["name"]].takes:
        given.pop("search", None)
    repetitions = [
        RepetitionRecord(
            id=number,
            number=number,
            state=State.DONE,
            value=value,
            figures={},
            curves=(),
            lower_bound=value if bracket else None,
            upper_bound=value + bracket if bracket else None,
            reason="",
            started_at="",
            finished_at="",
            trials=list((trials or {}).get(number, ())),
        )
        for number, value in enumerate(values, 1)
    ]
    return ExperimentRecord(1, planned_experiment(given), State.DONE, "", (), repetitions)
