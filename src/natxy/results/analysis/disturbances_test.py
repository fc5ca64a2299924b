# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from natxy.engine.messages.results import Verdict
from natxy.results.analysis.disturbances import Absences, Counts
from tests.support.sample_runs import result, trial


@pytest.mark.parametrize(("trials", "share"), [(8, 0.25), (0, 0.0)])
def test_the_share_of_undecided_trials_is_that_of_invalid_and_disturbed_ones(trials: int, share: float) -> None:
    assert Counts(trials, invalid=1, disturbed=1, marked=2, paused=3).undecided_share == share


@pytest.mark.parametrize(("traffic_s", "share"), [(8.0, 0.25), (0.0, 0.0)])
def test_the_share_of_a_cores_absence_is_that_of_the_traffic(traffic_s: float, share: float) -> None:
    assert Absences(trials=3, traffic_s=traffic_s, total_s=2.0, most_s=1.0).share == share


def test_absences_of_the_gateway_are_those_of_the_trials_that_know_them() -> None:
    unknown = trial(result(1e5, Verdict.PASS))
    known = [
        replace(unknown, gateway_pause_s=0.2, gateway_stolen_s=0.1, gateway_delayed_s=0.05),
        replace(unknown, gateway_pause_s=0.5),
        replace(unknown, gateway_pause_s=0.0, gateway_stolen_s=0.2),
    ]
    found = Absences.of_gateway([unknown, *known])
    assert found is not None
    assert (found.trials, found.traffic_s) == (3, 3 * unknown.duration_s)
    assert (found.total_s, found.most_s) == pytest.approx((0.7, 0.5))
    assert (found.stolen_s, found.delayed_s) == pytest.approx((0.3, 0.05))
    without_parts = Absences.of_gateway([known[1]])
    assert without_parts is not None
    assert (without_parts.stolen_s, without_parts.delayed_s) == (None, None)
    assert Absences.of_gateway([unknown]) is None
    assert Absences.of_tester([]) is None
