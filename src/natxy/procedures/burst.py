# SPDX-License-Identifier: Apache-2.0
"""Bursty traffic (RFC 2544 §21): the smallest gap between bursts without loss, from the highest average rate.

The frames of a burst leave back to back, as fast as the port takes them.
"""

from __future__ import annotations

import math
from dataclasses import replace

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.burst import BurstConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_rate, timed
from natxy.procedures.common.streams import traffic_request, with_foreground
from natxy.procedures.common.traffic import traffic_step
from natxy.search.outcome import Attempt


class Burst(Procedure[BurstConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        def step(attempt: Attempt) -> TrialResult | None:
            experiment = timed(repetition.experiment, attempt)
            return traffic_step(
                repetition, attempt, lambda seed: _bursts(experiment, self.config.frames, attempt.rate, seed)
            )

        found = search_rate(repetition, step)
        rate_fps = found.figures["rate"]
        gap_ns = 1e9 * self.config.gap_s(rate_fps) if rate_fps else None
        return replace(found, figures={**found.figures, "gap": gap_ns})


def _bursts(experiment: Experiment, burst: int, rate_fps: float, seed: int) -> TrialRequest:
    """Requests at least two whole bursts, since one burst has no gap.

    With background traffic, the bursts also make up whole turns of foreground and background.
    """
    whole = math.lcm(burst, experiment.turn_frames)
    frames = max(math.ceil(2 * burst / whole), round(rate_fps * experiment.traffic_s) // whole) * whole
    request = traffic_request(experiment, rate_fps, seed, frames=frames)
    # Foreground and background share one schedule, so one burst holds frames of both.
    return with_foreground(request, lambda _: {"burst": burst})
