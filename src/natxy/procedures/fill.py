# SPDX-License-Identifier: Apache-2.0
"""Shows what new connections meet while a gateway's table or its public ports fill up.

One trial opens all connections at a rate, and each has a reply, or the rest of its handshake. The number of a
connection says how full the gateway was when the connection was opened. So the delays and the losses of the frames that
open connections show where the choice of a port or an entry becomes slow, and where the choice begins to fail. When all
are opened, each has one more reply, because a gateway may have removed old connections for new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from natxy.engine.messages.requests import TaggedFrames, TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, counted
from natxy.plan.procedures.fill import FILLS_PERCENT, FillConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
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
# So small a share of the losses changes no conclusion.
_FEW: Final = 0.05


class Fill(Procedure[FillConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        rate_fps = repetition.rate
        assert rate_fps is not None

        def step(attempt: Attempt) -> TrialResult:
            return live(repetition, attempt, _with_tags)

        result = valid_step(repetition, 1, rate_fps, step)
        if result.verdict != Verdict.PASS:
            return no_result(self.config, result.reason)
        opening, last = result.streams[0], result.streams[-1]
        delays = _Delays(opening)
        first = opening.first_lost
        return ProcedureResult(
            figures={
                "refused": float(opening.lost),
                "forgotten": float(max(0, last.lost - opening.lost)),
                "refused_from": 100 * first.sequence / opening.planned if first else None,
                **{f"delay_{percent}": delays.around(percent) for percent in FILLS_PERCENT},
            },
            remark="; ".join(filter(None, (_none_lost(opening, last), _near_pauses(opening)))),
            curves=(delays.curve(),),
        )

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        rate_fps = (experiment.rate and experiment.rate.rate) or 1000.0
        life_s = self.config.life_s(experiment.protocol)
        return 2 * (experiment.connections or 0) / rate_fps + life_s + experiment.timing.drain + TRIAL_OVERHEAD_S


def _none_lost(opening: StreamResult, last: StreamResult) -> str:
    return "" if opening.lost or last.lost else "all connections were made: ask for more, or give the gateway less room"


def _near_pauses(opening: StreamResult) -> str:
    """Returns how many of the losses a pause of the tester may have caused, unless they are a few."""
    if opening.lost_near_pauses <= _FEW * opening.lost:
        return ""
    return f"{counted(opening.lost_near_pauses, 'frame')} of those lost were due near a pause of the tester"


def _with_tags(request: TrialRequest) -> TrialRequest:
    """Returns the request with the delays of opening frames one by one, with the last step after all connections are
    opened, and with any loss allowed."""
    opening, *steps, last = request.streams
    stride = _stride(opening.frames)
    tagged = TaggedFrames(first=0, stride=stride, count=-(-opening.frames // stride))
    lossy = {"max_loss_ratio": ANY_LOSS, "max_backlog_s": None}
    at_the_end = {"start_s": last.start_s + opening.frames / opening.rate_fps}
    streams = [
        opening.model_copy(update=lossy | {"tagged": tagged}),
        *(step.model_copy(update=lossy) for step in steps),
        last.model_copy(update=lossy | at_the_end),
    ]
    return request.model_copy(update={"streams": streams})


def _stride(connections: int) -> int:
    """Returns every how many frames one is tagged."""
    return -(-connections // _MOST_TAGGED)


class _Delays:
    """Holds the delays of opening frames, in nanoseconds, by the share of the connections opened before each."""

    def __init__(self, opening: StreamResult) -> None:
        tagged: Sequence[int | None] = opening.tagged_delays_ns or []
        connections, stride = opening.planned, _stride(opening.planned)
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
            "delay", "Delay of opening frames", Axis("connections opened", Unit.PERCENT), Axis("delay", Unit.NS), points
        )
