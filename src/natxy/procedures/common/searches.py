# SPDX-License-Identifier: Apache-2.0
"""Makes searches from the settings of experiments."""

from __future__ import annotations

from natxy.plan.experiment import Experiment
from natxy.plan.model.search import Goal
from natxy.search.binary import BinarySearch
from natxy.search.mlr import MlrSearch, TrialDurations


def search_of(experiment: Experiment, ceiling: float | None = None) -> BinarySearch | MlrSearch:
    """Returns the experiment's search. Its steps stay below the tester's `ceiling` unless the gateway passes that."""
    assert experiment.search is not None
    make = _mlr_search if experiment.search.kind == "mlrsearch" else binary_search
    return make(experiment, ceiling)


def binary_search(experiment: Experiment, ceiling: float | None = None) -> BinarySearch:
    search = experiment.search
    assert search is not None
    return BinarySearch(
        min_rate=search.min_rate,
        max_rate=search.max_rate,
        absolute_error=search.absolute_error,
        relative_error=search.relative_error,
        max_invalid=experiment.max_invalid,
        ceiling=ceiling,
    )


def _mlr_search(experiment: Experiment, ceiling: float | None) -> MlrSearch:
    search, tolerance = experiment.search, experiment.loss_tolerance
    assert search is not None
    goal, relative_error = search.goal, search.relative_error
    if relative_error is None:
        assert search.absolute_error is not None
        # The width is relative to a rate that is at most the highest.
        relative_error = min(search.absolute_error / search.max_rate, 0.5)
    return MlrSearch(
        min_rate=search.min_rate,
        max_rate=search.max_rate,
        relative_error=relative_error,
        durations=_durations(goal) if goal else None,
        trials=goal.deciding_trials if goal else 1,
        loss_ratio=tolerance.most if tolerance else 0.0,
        exceed_ratio=goal.exceed_ratio if goal else 0.0,
        partial_loss_ratio=experiment.procedure.partial_loss_ratio,
        max_invalid=experiment.max_invalid,
        ceiling=ceiling,
    )


def _durations(goal: Goal) -> TrialDurations | None:
    if goal.initial_trial is None or goal.final_trial is None or goal.duration_sum is None:
        return None
    return TrialDurations(goal.initial_trial, goal.final_trial, goal.duration_sum)
