# SPDX-License-Identifier: Apache-2.0
"""Phase 1 (RFC 9693 §4.2): establishes connections, as a measurement of its own or before another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import ack_request, establish_request, syn_ack_request
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt

# The time of a trial besides its traffic, its waits and the clearing (docs/explanation/speed.md).
TRIAL_OVERHEAD_S: Final = 0.008


def establish(repetition: Repetition, attempt: Attempt, purpose: Purpose, rate_fps: float, *pairs: int) -> TrialResult:
    """Establishes the experiment's connections between some pairs of interfaces at the same time, by default between
    the first; `rate_fps` of them all per second. Returns the trial that decides.

    Of TCP, all connections take each step of the handshake before the next step begins (RFC 9293 §3.5).
    """

    def trial(kind: TrialKind, request: Callable[..., TrialRequest]) -> TrialResult:
        def run(seed: int, on_progress: OnProgress) -> TrialResult:
            return repetition.engine.run_trial(request(repetition.experiment, rate_fps, seed, *pairs), on_progress)

        return repetition.trial(attempt, kind, purpose, rate_fps, run)

    made = trial(TrialKind.PHASE1, establish_request)
    if repetition.experiment.protocol == Protocol.UDP:
        return made
    for kind, request in ((TrialKind.SYN_ACK, syn_ack_request), (TrialKind.ACK, ack_request)):
        if made.verdict != Verdict.PASS:
            break
        step = trial(kind, request)
        known = {"established": made.established, "sources": made.sources}
        # Connections whose handshake has lost a segment are not established.
        made = step if step.verdict == Verdict.FAIL else step.model_copy(update=known)
    return made


def handshake_steps(experiment: Experiment) -> int:
    """Returns the number of trials that make connections."""
    return 1 if experiment.protocol == Protocol.UDP else 3


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
    step_s = TRIAL_OVERHEAD_S + made_s + timing.expected_drain_s
    return handshake_steps(experiment) * step_s + timing.learning_pause
