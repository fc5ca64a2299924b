# SPDX-License-Identifier: Apache-2.0
"""Phase 1 (RFC 9693 §4.1) of procedures that measure over established connections."""

from __future__ import annotations

from typing import Final

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import establish_request
from natxy.results.records import Purpose, TrialKind
from natxy.search.outcome import Attempt

# What an engine request takes besides its traffic and its waits.
TRIAL_OVERHEAD_S: Final = 0.1


def begin_with_connections(repetition: Repetition, attempt: Attempt) -> TrialResult | None:
    """Begins the attempt and establishes the experiment's connections; None where some are missing.

    The rate was chosen to be safe, so a phase 1 that loses frames says nothing of what is to be measured.
    """
    rate_fps = repetition.phase1_fps
    assert rate_fps is not None
    repetition.begin(attempt)
    result = repetition.trial(
        attempt,
        TrialKind.PHASE1,
        Purpose.PREPARE,
        rate_fps,
        lambda seed, on_progress: repetition.engine.establish(
            establish_request(repetition.experiment, rate_fps, seed), on_progress
        ),
    )
    if result.verdict == Verdict.FAIL:
        return None
    if result.verdict == Verdict.PASS:
        repetition.sleep(repetition.experiment.timing.learning_pause)
    return result


def phase1_s(experiment: Experiment, phase1_fps: float | None) -> float:
    """What `begin_with_connections` takes, about."""
    if experiment.connections is None or phase1_fps is None:
        return 0.0
    timing = experiment.timing
    return TRIAL_OVERHEAD_S + experiment.connections / phase1_fps + timing.drain + timing.learning_pause
