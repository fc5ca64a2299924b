# SPDX-License-Identifier: Apache-2.0
"""System recovery (RFC 2544 §26.5): the time from the moment an overload's rate is halved to the last lost frame.

Loss during the overload does not count. A trial passes if nothing is lost at half the rate: the gateway recovered at
once.
"""

from __future__ import annotations

from typing import Any, Final

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Cause, StreamResult, TrialResult
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.system_recovery import SystemRecoveryConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.rates import below_line, off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import ANY_LOSS, by_direction, highest, of_each_direction, traffic_step

AFTERWARDS: Final = " at half the rate"
_NO_LOSS: Final = "the overload lost nothing: the gateway forwards more than that"

LEAST_OVERLOAD_S: Final = 60.0
"""RFC 2544 §26.5."""


class SystemRecovery(Procedure[SystemRecoveryConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        assert repetition.rate is not None
        experiment, rate_fps = repetition.experiment, self.config.overload_fps(repetition.rate)
        recovery_s = self.config.recovery_s(experiment.timing.trial)
        result = valid_step(
            repetition,
            1,
            rate_fps,
            lambda attempt: traffic_step(
                repetition, attempt, lambda seed: _request(experiment, rate_fps, recovery_s, seed)
            ),
        )
        return _recovered(result)

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        trial_s, maximum_rate, source = experiment.timing.trial, self.config.maximum_rate, "RFC 2544 §26.5"
        found = [
            *off_throughput(experiment, "System recovery is measured around", source),
            *below_line(experiment, maximum_rate, "The overload before a system recovery is limited to", source),
        ]
        if trial_s < LEAST_OVERLOAD_S:
            asked = f"{source} asks for at least {format_duration(LEAST_OVERLOAD_S)}"
            found.append(departure(f"The overload before a system recovery lasts {format_duration(trial_s)}; {asked}."))
        return found


def _recovered(result: TrialResult) -> ProcedureResult:
    # In the order of `_request`.
    overload, afterwards = result.streams[::2], result.streams[1::2]
    losses = of_each_direction(overload, lambda stream: 100 * stream.lost / stream.planned)
    figures = {"recovery": None, **by_direction("recovery", {}), **by_direction("overload_loss", losses)}
    if result.cause == Cause.BACK_PRESSURE:
        return ProcedureResult(figures, remark=f"the overload could not be offered: {result.reason}")
    both = [*zip(overload, afterwards, strict=True)]
    if losing := [offered.name for offered, found in both if _lost_to_the_end(found)]:
        return ProcedureResult(figures, remark=f"frames are lost to the end, {', '.join(losing)}: raise `recovery`")
    # A direction has recovered once its background traffic has recovered as well.
    times: dict[str, float | None] = {}
    for offered, found in both:
        recovered_s = found.last_lost.due_s - _overload_s(offered) if found.last_lost else 0.0
        times[found.source.direction] = max(recovered_s, times.get(found.source.direction) or 0.0)
    remark = "" if any(stream.lost for stream in overload) else _NO_LOSS
    return ProcedureResult(figures | {"recovery": highest(times)} | by_direction("recovery", times), remark=remark)


def _lost_to_the_end(stream: StreamResult) -> bool:
    return stream.last_lost is not None and stream.last_lost.sequence == stream.planned - 1


def _overload_s(offered: StreamResult) -> float:
    return offered.planned / offered.intended_rate_fps


def _request(experiment: Experiment, rate_fps: float, recovery_s: float, seed: int) -> TrialRequest:
    """Requests every stream twice: at the overload's rate, and at half of it as soon as the overload ends."""
    overload = traffic_request(experiment, rate_fps, seed, frames=_frames(rate_fps, experiment.timing.trial))
    halved = traffic_request(experiment, rate_fps / 2, seed, frames=_frames(rate_fps / 2, recovery_s))
    first = overload.streams[0]
    begins: dict[str, Any] = {"start_s": first.frames / first.rate_fps}
    streams = []
    for offered, afterwards in zip(overload.streams, halved.streams, strict=True):
        names = {"name": afterwards.name + AFTERWARDS}
        if afterwards.interleaved_with:
            names["interleaved_with"] = afterwards.interleaved_with + AFTERWARDS
        streams += [
            offered.model_copy(update={"max_loss_ratio": ANY_LOSS}),
            afterwards.model_copy(update=begins | names),
        ]
    return overload.model_copy(update={"streams": streams})


def _frames(rate_fps: float, duration_s: float) -> int:
    return max(1, round(rate_fps * duration_s))
