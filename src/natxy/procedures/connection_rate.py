# SPDX-License-Identifier: Apache-2.0
"""The maximum connection establishment rate (RFC 9693 §4.5), and the validated one (§4.6).

N new connections at rate R pass if all N frames arrive. A full table may replace old connections while every frame
still arrives. Validation detects this: the responder sends the reply of every connection once, at rate α·R. Pairs of
interfaces make N connections each at the same time, and R is the rate of all.
"""

from __future__ import annotations

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.connection_rate import ConnectionRateConfig, ValidatedConnectionRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S, establish, handshake_steps
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_rate
from natxy.procedures.common.streams import validate_request
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt


class ConnectionRate(Procedure[ConnectionRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        return search_rate(repetition, lambda attempt: _establish(repetition, attempt))

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return _established_s(_as_one(experiment))


class ValidatedConnectionRate(Procedure[ValidatedConnectionRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        return search_rate(repetition, lambda attempt: establish_and_validate(repetition, attempt))

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return validated_s(_as_one(experiment))


def _establish(repetition: Repetition, attempt: Attempt) -> TrialResult:
    repetition.begin(attempt)
    return establish(repetition, attempt, Purpose.MEASURE, attempt.rate, *_pairs(repetition))


def establish_and_validate(repetition: Repetition, attempt: Attempt) -> TrialResult:
    """Runs phase 1 at `attempt.rate`, in connections per second, then validates; returns the trial that decides."""
    established = _establish(repetition, attempt)
    if established.verdict != Verdict.PASS:
        return established
    return validate(repetition, attempt, *_pairs(repetition))


def _as_one(experiment: Experiment) -> Experiment:
    """Returns the experiment with the connections of all pairs of interfaces, which are made at the same time."""
    connections = (experiment.connections or 0) * experiment.pair_count
    return experiment.model_copy(update={"connections": connections, "pairs": None})


def _pairs(repetition: Repetition) -> range:
    return range(repetition.experiment.pair_count)


def validate(repetition: Repetition, attempt: Attempt, *pairs: int) -> TrialResult:
    """Validates the connections of some pairs of interfaces at the same time, at the experiment's share α of
    `attempt.rate`."""
    alpha = repetition.experiment.alpha
    assert alpha is not None
    rate_fps = alpha * attempt.rate
    return repetition.trial(
        attempt,
        TrialKind.VALIDATE,
        Purpose.MEASURE,
        rate_fps,
        lambda seed, on_progress: repetition.engine.run_trial(
            validate_request(repetition.experiment, rate_fps, seed, *pairs), on_progress
        ),
    )


def validated_s(experiment: Experiment) -> float:
    """Returns about how long it takes to make and to validate all connections that the experiment names."""
    assert experiment.alpha is not None
    each_s = TRIAL_OVERHEAD_S + experiment.timing.expected_drain_s
    validation_s = _traffic_s(experiment) / experiment.alpha + experiment.pair_count * each_s
    return _established_s(experiment) + validation_s


def _established_s(experiment: Experiment) -> float:
    step_s = _traffic_s(experiment) + experiment.pair_count * experiment.timing.expected_drain_s
    return handshake_steps(experiment) * step_s


def _traffic_s(experiment: Experiment) -> float:
    """Returns the duration of phase 1 at the middle of the search."""
    assert experiment.connections is not None
    assert experiment.search is not None
    return experiment.connections / experiment.search.middle_rate
