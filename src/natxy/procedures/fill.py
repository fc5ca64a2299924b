# SPDX-License-Identifier: Apache-2.0
"""Shows what new connections meet while a gateway's table or its public ports fill up.

One trial opens all connections at a rate, and each has a reply, or the rest of its handshake. The number of a
connection says how full the gateway was when it was opened. So the delays of the frames that open connections show
where the choice of a port or an entry becomes slow, and the first connection without its last frame shows where it
begins to fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from natxy.engine.messages.requests import TaggedFrames, TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit
from natxy.plan.procedures.fill import FILLS_PERCENT, FillConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.lives import live
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.traffic import ANY_LOSS
from natxy.results.curves import Axis, Curve
from natxy.search.outcome import Attempt

_MOST_TAGGED: Final = 20_000
# The delays of so many percent of the connections around a fill make its median.
_AROUND_PERCENT: Final = 1.0


class Fill(Procedure[FillConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        experiment, rate_fps = repetition.experiment, repetition.rate
        assert experiment.connections is not None
        assert rate_fps is not None

        def step(attempt: Attempt) -> TrialResult:
            return live(repetition, attempt, _with_tags)

        result = valid_step(repetition, 1, rate_fps, step)
        opening, last = result.streams[0], result.streams[-1]
        delays = _Delays(opening, experiment.connections)
        first = last.first_lost
        return ProcedureResult(
            figures={
                "refused": float(last.lost),
                "refused_from": 100 * first.sequence / experiment.connections if first else None,
                **{f"delay_{percent}": delays.around(percent) for percent in FILLS_PERCENT},
            },
            remark="" if last.lost else "all connections were made: ask for more, or give the gateway less room",
            curves=(delays.curve(),),
        )

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        rate_fps = (experiment.rate and experiment.rate.rate) or 1000.0
        life_s = self.config.life_s(experiment.protocol)
        return (experiment.connections or 0) / rate_fps + life_s + experiment.timing.drain + TRIAL_OVERHEAD_S


def _with_tags(request: TrialRequest) -> TrialRequest:
    """Returns the request with the delays of opening frames one by one, and any loss allowed."""
    opening, *steps = request.streams
    stride = -(-opening.frames // _MOST_TAGGED)
    tagged = TaggedFrames(first=0, stride=stride, count=-(-opening.frames // stride))
    lossy = {"max_loss_ratio": ANY_LOSS, "max_backlog_s": None}
    streams = [opening.model_copy(update=lossy | {"tagged": tagged})]
    return request.model_copy(update={"streams": streams + [step.model_copy(update=lossy) for step in steps]})


class _Delays:
    """Holds the delays of opening frames, in nanoseconds, by the share of the connections opened before each."""

    def __init__(self, opening: StreamResult, connections: int) -> None:
        tagged: Sequence[int | None] = opening.tagged_delays_ns or []
        stride = -(-connections // _MOST_TAGGED)
        self._by_percent = [
            (100 * number * stride / connections, float(delay_ns))
            for number, delay_ns in enumerate(tagged)
            if delay_ns is not None
        ]

    def around(self, percent: float) -> float | None:
        """Returns the median delay near a share; None if no frame near it arrived."""
        near = [delay_ns for share, delay_ns in self._by_percent if abs(share - percent) <= _AROUND_PERCENT]
        return median(near) if near else None

    def curve(self) -> Curve:
        medians = ((float(percent), self.around(percent)) for percent in range(0, 101, 2))
        points = tuple((percent, delay_ns) for percent, delay_ns in medians if delay_ns is not None)
        return Curve(
            "delay", "Delay of opening frames", Axis("connections made", Unit.PERCENT), Axis("delay", Unit.NS), points
        )
