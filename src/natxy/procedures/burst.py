# SPDX-License-Identifier: Apache-2.0
"""Bursty traffic (RFC 2544 §21): the smallest gap between bursts, which is the highest average rate, without loss.

The frames of a burst leave back to back, as fast as the port takes them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from natxy.engine.messages.requests import TrialRequest
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.burst import BurstConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_of, search_rate, timed
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import TrafficProcedure, traffic_step
from natxy.search.outcome import Attempt


class Burst(TrafficProcedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = BurstConfig

    def measure(self, repetition: Repetition) -> ProcedureResult:
        found = search_rate(
            repetition,
            lambda attempt: traffic_step(
                repetition, attempt, lambda seed: _bursts(repetition.experiment, attempt, seed)
            ),
        )
        rate_fps = found.figures["rate"]
        gap_ns = 1e9 * _config(repetition.experiment).gap_s(rate_fps) if rate_fps else None
        return replace(found, figures={**found.figures, "gap": gap_ns})

    def expected_steps(self, experiment: Experiment) -> int:
        return search_of(experiment).expected_steps()


def _bursts(experiment: Experiment, attempt: Attempt, seed: int) -> TrialRequest:
    """Whole bursts only, at least two: one alone has no gap. With background traffic as many as it takes for whole
    turns of the two."""
    timely, burst = timed(experiment, attempt), _config(experiment).frames
    whole = math.lcm(burst, experiment.turn_frames)
    frames = max(math.ceil(2 * burst / whole), round(attempt.rate * timely.traffic_s) // whole) * whole
    request = traffic_request(timely, attempt.rate, seed, frames=frames)
    # Streams that take turns share one schedule, whose bursts are those of both together.
    streams = [
        stream if stream.interleaved_with else stream.model_copy(update={"burst": burst}) for stream in request.streams
    ]
    return request.model_copy(update={"streams": streams})


def _config(experiment: Experiment) -> BurstConfig:
    assert isinstance(experiment.procedure, BurstConfig)
    return experiment.procedure
