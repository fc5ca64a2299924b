# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.results.analysis.disturbances import Absences, Counts


@pytest.mark.parametrize(("trials", "share"), [(8, 0.25), (0, 0.0)])
def test_the_share_of_undecided_trials_is_that_of_invalid_and_disturbed_ones(trials: int, share: float) -> None:
    assert Counts(trials, invalid=1, disturbed=1, marked=2, paused=3).undecided_share == share


@pytest.mark.parametrize(("traffic_s", "share"), [(8.0, 0.25), (0.0, 0.0)])
def test_the_share_of_a_cores_absence_is_that_of_the_traffic(traffic_s: float, share: float) -> None:
    assert Absences(trials=3, traffic_s=traffic_s, total_s=2.0, most_s=1.0).share == share
