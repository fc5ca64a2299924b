# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.model.terms import EarlyEnd
from natxy.plan.model.timing import LAB_TIMING, RFC_TIMING, TimingPlan, TimingPreset, resolve_timing

LAB = TimingPlan(preset=TimingPreset.LAB)


def test_the_times_of_rfc_2544() -> None:
    # §24: 60 s of traffic. §23: 2 s after the learning frames, 2 s for residual frames, 5 s of rest.
    own = RFC_TIMING
    assert (own.trial, own.learning_pause, own.drain, own.settle) == (60, 2, 2, 5)
    assert own.learning_frames
    assert own.ends_early == EarlyEnd.LOST
    assert (own.drain_ends_early, own.overrun_floor, own.max_backlog) == (False, 0, None)


def test_the_times_of_a_lab_are_short_and_forgive_a_late_frame() -> None:
    own = LAB_TIMING
    assert (own.trial, own.learning_pause, own.drain, own.settle) == (0.5, 0.01, 0.1, 0.02)
    assert (own.drain_ends_early, own.overrun_floor, own.max_backlog) == (True, 0.001, 0.05)
    assert own.max_pause == RFC_TIMING.max_pause == 0.001
    assert own.ends_early == EarlyEnd.INVALID


def test_an_own_preset_replaces_the_common_times_and_own_fields_extend_them() -> None:
    common = TimingPlan(preset=TimingPreset.LAB, trial=3)
    assert resolve_timing(common, TimingPlan()) == LAB_TIMING.model_copy(update={"trial": 3.0})
    assert resolve_timing(common, TimingPlan(settle=1)).model_dump() == LAB_TIMING.model_dump() | {
        "trial": 3,
        "settle": 1,
    }
    assert resolve_timing(common, LAB) == LAB_TIMING
    assert resolve_timing(TimingPlan(), TimingPlan()) == RFC_TIMING


def test_learning_takes_a_pause_before_each_trial() -> None:
    assert (RFC_TIMING.learning_s, LAB_TIMING.learning_s) == (2, 0)


@pytest.mark.parametrize(("early", "expected_s"), [(True, 1), (False, 2)])
def test_a_drain_that_ends_early_takes_half_on_average(early: bool, expected_s: float) -> None:
    assert RFC_TIMING.model_copy(update={"drain_ends_early": early}).expected_drain_s == expected_s
