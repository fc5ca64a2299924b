# SPDX-License-Identifier: Apache-2.0
"""Tests the trials of connection rates one by one; `truth_test.py` measures whole searches in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.traffic_test import measure, plan_of
from natxy.procedures.registry import procedure_of
from natxy.results.trials import Purpose, TrialKind

SEARCH = {"min_rate": 1000, "max_rate": 9000, "error": 500}
PLAIN: dict[str, Any] = {"name": "rate", "procedure": "connection-rate", "connections": 10_000, "search": SEARCH}
VALIDATED = PLAIN | {"procedure": "validated-connection-rate", "alpha": 0.25}


def steps_of(own: dict[str, Any], **gateway: Any) -> list[list[tuple[TrialKind, float, bool]]]:
    """Returns kind, rate and success of the trials of each step."""
    [repetition] = measure(own, **gateway).experiments[0].repetitions
    assert {trial.purpose for trial in repetition.trials} == {Purpose.MEASURE}
    by_step: dict[int, list[tuple[TrialKind, float, bool]]] = {}
    for trial in repetition.trials:
        found = trial.kind, trial.rate_fps, trial.verdict == "pass"
        by_step.setdefault(trial.number, []).append(found)
    return [*by_step.values()]


def test_a_connection_rate_needs_phase_1_alone() -> None:
    for trials in steps_of(PLAIN, connection_rate_fps=4000):
        assert len({rate for _, rate, _ in trials}) == 1
        assert {kind for kind, _, _ in trials} == {TrialKind.PHASE1}


def test_only_connections_that_were_made_are_validated_and_at_the_share_that_alpha_says() -> None:
    steps = steps_of(VALIDATED, connection_rate_fps=4000)
    assert {kind for trials in steps for kind, _, _ in trials} == {TrialKind.PHASE1, TrialKind.VALIDATE}
    for trials in steps:
        for (kind, rate_fps, passed), after in zip(trials, [*trials[1:], None], strict=True):
            if kind == TrialKind.PHASE1 and passed:
                assert after is not None
                assert after[:2] == (TrialKind.VALIDATE, 0.25 * rate_fps)
            elif after is not None:
                assert after[0] == TrialKind.PHASE1


def experiment(own: dict[str, Any], **timing: Any) -> Experiment:
    return resolve(plan_of(own, timing={"preset": "rfc", "drain": "3s"} | timing)).experiments[0]


@pytest.mark.parametrize(
    ("own", "step_s"),
    [
        # 10,000 connections at 5000 a second, in the middle of the search, and the drain.
        (PLAIN, 2 + 3),
        # Their replies follow at a quarter of that rate, with a drain of their own.
        (VALIDATED, 2 + 3 + TRIAL_OVERHEAD_S + 8 + 3),
    ],
)
def test_a_step_lasts_as_long_as_its_connections_take_at_the_middle_rate(own: dict[str, Any], step_s: float) -> None:
    found = experiment(own)
    assert procedure_of(found).expected_step_s(found, None) == pytest.approx(step_s)
