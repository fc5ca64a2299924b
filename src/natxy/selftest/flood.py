# SPDX-License-Identifier: Apache-2.0
"""How fast a tester is when asked for more than it can send: where a self-test begins to search."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from natxy.engine.client import EngineClient
from natxy.errors import DutError
from natxy.plan.experiment import ResolvedPlan
from natxy.procedures.common.streams import traffic_request
from natxy.run.setup import Setups

# As many frames as keep any tester busy for some milliseconds, and none for long.
FRAMES: Final = 500_000
FLOOD_FPS: Final = 200e6


def fastest_fps(plan: ResolvedPlan, engine_log: Path) -> float:
    """Frames per second that came through the loop of `plan`'s first experiment. DutError where none did."""
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
