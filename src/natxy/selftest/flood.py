# SPDX-License-Identifier: Apache-2.0
"""Measures the rate of a tester that is offered more than it can send, the upper end of a self-test's searches."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from natxy.engine.client import EngineClient
from natxy.errors import DutError
from natxy.plan.experiment import ResolvedPlan
from natxy.procedures.common.streams import traffic_request
from natxy.run.setup import Setups

# Enough frames to keep any tester busy for some milliseconds, and few enough not to take long.
FRAMES: Final = 500_000
FLOOD_FPS: Final = 200e6


def fastest_fps(plan: ResolvedPlan, engine_log: Path) -> float:
    """Returns the frames per second that arrived over the loop of `plan`'s first experiment. Raises DutError when none
    arrived."""
    experiment = plan.experiments[0]
    timing = experiment.timing.model_copy(update={"trial": FRAMES / FLOOD_FPS})
    with Setups(plan, engine_log) as setups:
        engine = setups.provide(experiment).tester
        assert isinstance(engine, EngineClient)
        request = traffic_request(experiment.model_copy(update={"timing": timing}), FLOOD_FPS, plan.seed)
        result = engine.run_trial(request)
    stream = result.streams[0]
    if stream.received == 0:
        raise DutError(
            f"of {stream.sent:,} frames that left the left port none arrived at the right one ({result.reason}): join "
            "the two ports by a cable, with nothing in between"
        )
    return stream.received / result.duration_s
