# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.results import CoreSpeed as Measured
from natxy.engine.messages.results import Verdict
from natxy.results.analysis.core_speed import CoreSpeed, core_speed, highest_speeds
from natxy.results.trials import TrialRecord
from tests.support.sample_runs import result, trial


def at_speeds(*cores: tuple[int, float, float]) -> TrialRecord:
    """Returns a trial during which the cores had these numbers, mean speeds and highest speeds."""
    speeds = [Measured(core=core, samples=60, mean_hz=mean, fastest_hz=fastest) for core, mean, fastest in cores]
    return trial(result(1e5, Verdict.PASS).model_copy(update={"dut_cores": speeds}))


def alone(trials: Iterable[TrialRecord]) -> CoreSpeed | None:
    """Returns the speed in trials that are all of their run."""
    every = [*trials]
    return core_speed(every, highest_speeds(every))


def test_speeds_are_shares_of_the_highest_of_the_run() -> None:
    found = alone([at_speeds((1, 1.9e6, 2e6)), at_speeds((1, 0.8e6, 1e6)), trial(result(1e5, Verdict.PASS))])
    assert found is not None
    assert (found.trials, found.slowed_trials) == (2, 1)
    assert found.mean == pytest.approx((0.95 + 0.4) / 2)
    assert found.least == pytest.approx(0.4)
    assert found.slowed


def test_of_several_cores_the_slowest_counts_against_its_own_highest_speed() -> None:
    found = alone([at_speeds((1, 3e6, 4e6), (2, 1.9e6, 2e6))])
    assert found is not None
    assert found.mean == pytest.approx(0.75)


def test_nothing_is_known_without_a_measurement() -> None:
    assert alone([trial(result(1e5, Verdict.PASS))]) is None


@given(st.lists(st.tuples(st.floats(1, 1e7), st.floats(0, 1)), min_size=1))
def test_no_share_exceeds_one(measured: list[tuple[float, float]]) -> None:
    found = alone(at_speeds((0, fastest * share, fastest)) for fastest, share in measured)
    assert found is not None
    assert 0 <= found.least <= found.mean + 1e-12 <= 1 + 1e-9
    assert found.slowed_trials <= found.trials
