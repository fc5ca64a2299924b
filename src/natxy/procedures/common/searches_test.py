# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.searches import binary_search, search_of
from natxy.search.binary import BinarySearch
from natxy.search.mlr import MlrSearch, TrialDurations


def experiment(search: dict[str, Any], **own: Any) -> Experiment:
    given = {"name": "x", "gateway": "linux-forward", "procedure": "throughput", "timing": {"trial": 60}} | own
    return resolve(Plan.model_validate({"name": "p", "experiments": [given | {"search": search}]})).experiments[0]


def test_a_search_by_halving_has_the_plans_limits_and_error() -> None:
    limits = {"kind": "binary", "min_rate": 100, "max_rate": 5000}
    absolute = experiment(limits | {"error": 7}, max_invalid=4)
    assert search_of(absolute, 900) == BinarySearch(100, 5000, absolute_error=7, max_invalid=4, ceiling=900)
    assert binary_search(absolute) == BinarySearch(100, 5000, absolute_error=7, max_invalid=4)
    assert search_of(experiment(limits | {"error": "3%"})) == BinarySearch(100, 5000, relative_error=0.03)


def mlr(search: dict[str, Any], **own: Any) -> MlrSearch:
    found = search_of(experiment({"kind": "mlrsearch", "min_rate": 100, "max_rate": 5000} | search, **own), 900)
    assert isinstance(found, MlrSearch)
    assert (found.min_rate, found.max_rate, found.ceiling) == (100, 5000, 900)
    return found


@pytest.mark.parametrize(("error", "relative"), [("2%", 0.02), (50, 0.01), (2500, 0.5), (4000, 0.5)])
def test_the_width_of_mlrsearch_is_relative_to_the_highest_rate(error: object, relative: float) -> None:
    assert mlr({"error": error}).relative_error == pytest.approx(relative)


def test_mlrsearch_has_the_goal_of_the_plan() -> None:
    own = {"initial_trial": "1s", "final_trial": "20s", "duration_sum": "40s", "exceed_ratio": 0.25}
    found = mlr({"goal": own}, max_invalid=5)
    assert found.durations == TrialDurations(1, 20, 40)
    assert (found.trials, found.exceed_ratio, found.max_invalid) == (2, 0.25, 5)
    assert found.loss_ratio == 0


def test_a_tolerated_loss_is_that_of_the_direction_that_tolerates_most() -> None:
    assert mlr({}, loss_tolerance="0.5%").loss_ratio == pytest.approx(0.005)
