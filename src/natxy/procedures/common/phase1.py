# SPDX-License-Identifier: Apache-2.0
"""Phase 1 (RFC 9693 §4.2): establishes connections, as a measurement of its own or before another one."""

from __future__ import annotations

from typing import Final

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import establish_request
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt

# The time of a trial besides its traffic, its waits and the clearing (docs/explanation/speed.md).
TRIAL_OVERHEAD_S: Final = 0.008


def establish(repetition: Repetition, attempt: Attempt, purpose: Purpose, rate_fps: float, *pairs: int) -> TrialResult:
    """Establishes the experiment's connections between some pairs of interfaces at the same time, by default between
    the first; `rate_fps` of them all per second."""
    return repetition.trial(
        attempt,
        TrialKind.PHASE1,
        purpose,
        rate_fps,
        lambda seed, on_progress: repetition.engine.run_trial(
            establish_request(repetition.experiment, rate_fps, seed, *pairs), on_progress
        ),
    )


def begin_with_connections(repetition: Repetition, attempt: Attempt) -> TrialResult | None:
    """Starts the attempt and establishes the experiment's connections; returns None if any are missing.

    All pairs of interfaces make theirs at the same time and share the rate, as when a connection rate is measured. The
    rate should be safe, so lost frames do not count as a failure of the measurement that follows.
    """
    assert repetition.phase1_fps is not None
    repetition.begin(attempt)
    pairs = range(repetition.experiment.pair_count)
    result = establish(repetition, attempt, Purpose.PREPARE, repetition.phase1_fps, *pairs)
    if result.verdict in {Verdict.FAIL, Verdict.DISTURBED}:
        return None
    if result.verdict != Verdict.PASS:
        return result
    repetition.sleep(repetition.experiment.timing.learning_pause)
    return result


def phase1_s(experiment: Experiment, phase1_fps: float | None) -> float:
    """Returns about how long `begin_with_connections` takes."""
    if experiment.connections is None or phase1_fps is None:
        return 0.0
    timing = experiment.timing
    made_s = experiment.pair_count * experiment.connections / phase1_fps
    return TRIAL_OVERHEAD_S + made_s + timing.expected_drain_s + timing.learning_pause
