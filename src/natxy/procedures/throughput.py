# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 §26.1): the highest rate at which every frame arrives, in each direction."""

from __future__ import annotations

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.plan.procedures.throughput import ThroughputConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_rate, timed
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import traffic_step
from natxy.search.outcome import Attempt


class Throughput(Procedure[ThroughputConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        return search_rate(repetition, lambda attempt: throughput_step(repetition, attempt))


def throughput_step(repetition: Repetition, attempt: Attempt) -> TrialResult | None:
    """Runs one trial at the attempt's rate, for the duration that the search asks for, or until it cannot pass."""
    experiment = timed(repetition.experiment, attempt)

    def request(seed: int) -> TrialRequest:
        return traffic_request(experiment, attempt.rate, seed).model_copy(update={"ends_early": experiment.ends_early})

    return traffic_step(repetition, attempt, request)
