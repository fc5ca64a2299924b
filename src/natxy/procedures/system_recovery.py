# SPDX-License-Identifier: Apache-2.0
"""System recovery (RFC 2544 §26.5): from the halving of an overload's rate to the last frame lost.

The overload may lose what it does. A trial passes that loses nothing at half the rate: the gateway recovered at once.
"""

from __future__ import annotations

from typing import ClassVar, Final

from natxy.engine.messages import Cause, StreamResult, StreamSpec, TrialRequest, TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.per_direction import STREAMS
from natxy.plan.procedures.system_recovery import SystemRecoveryConfig
from natxy.procedures.base import ProcedureResult
from natxy.procedures.bench import Bench
from natxy.procedures.steps import valid_step
from natxy.procedures.streams import traffic_request
from natxy.procedures.traffic import (
    TrafficProcedure,
    by_direction,
    highest,
    traffic_step,
)

# As near to 1 as it takes to tolerate whatever an overload loses, unless that is everything.
ANY_LOSS: Final = 1 - 1e-9
AFTERWARDS: Final = " at half the rate"


class SystemRecovery(TrafficProcedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = SystemRecoveryConfig

    def measure(self, bench: Bench) -> ProcedureResult:
        assert bench.rate is not None
        rate_fps = _config(bench.experiment).overload_fps(bench.rate)
        result = valid_step(
            bench,
            1,
            rate_fps,
            lambda attempt: traffic_step(bench, attempt, lambda seed: _request(bench.experiment, rate_fps, seed)),
        )
        return _recovered(bench.experiment, rate_fps, result)


def _recovered(experiment: Experiment, rate_fps: float, result: TrialResult) -> ProcedureResult:
    streams = {stream.name: stream for stream in result.streams}
    offered = {name: streams[name] for name in STREAMS if name in streams}
    losses: dict[str, float | None] = {name: 100 * found.lost / found.planned for name, found in offered.items()}
    figures = {"recovery": None, **by_direction("recovery", {}), **by_direction("overload_loss", losses)}
    if result.cause == Cause.BACK_PRESSURE:
        return ProcedureResult(figures, remark=f"the overload could not be offered: {result.reason}")
    halved_s = _frames(experiment, rate_fps) / rate_fps
    afterwards = {name: streams[name + AFTERWARDS] for name in offered}
    if losing := [name for name, found in afterwards.items() if _lost_to_the_end(found)]:
        return ProcedureResult(figures, remark=f"frames are lost to the end, {', '.join(losing)}: raise `recovery`")
    times: dict[str, float | None] = {
        name: found.last_lost.due_s - halved_s if found.last_lost else 0.0 for name, found in afterwards.items()
    }
    remark = "" if any(losses.values()) else "the overload lost nothing: the gateway forwards more than that"
    return ProcedureResult(figures | {"recovery": highest(times)} | by_direction("recovery", times), remark=remark)


def _lost_to_the_end(stream: StreamResult) -> bool:
    return stream.last_lost is not None and stream.last_lost.sequence == stream.planned - 1


def _request(experiment: Experiment, rate_fps: float, seed: int) -> TrialRequest:
    request = traffic_request(experiment, rate_fps, seed)
    streams = [half for stream in request.streams for half in _halved(experiment, rate_fps, stream)]
    return request.model_copy(update={"streams": streams})


def _halved(experiment: Experiment, rate_fps: float, stream: StreamSpec) -> tuple[StreamSpec, StreamSpec]:
    """The overload, and what begins when it ends."""
    frames = _frames(experiment, rate_fps)
    recovery_s = _config(experiment).recovery_s(experiment.timing.trial)
    afterwards = {
        "name": stream.name + AFTERWARDS,
        "rate_fps": rate_fps / 2,
        "frames": max(1, round(rate_fps / 2 * recovery_s)),
        "start_s": frames / rate_fps,
    }
    return (
        stream.model_copy(update={"frames": frames, "max_loss_ratio": ANY_LOSS}),
        stream.model_copy(update=afterwards),
    )


def _frames(experiment: Experiment, rate_fps: float) -> int:
    """Of the overload."""
    return max(1, round(rate_fps * experiment.timing.trial))


def _config(experiment: Experiment) -> SystemRecoveryConfig:
    assert isinstance(experiment.procedure, SystemRecoveryConfig)
    return experiment.procedure
