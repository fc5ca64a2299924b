# SPDX-License-Identifier: Apache-2.0
"""Reset (RFC 6201): how long a reset of the DUT in mid-stream interrupts steady traffic.

By lost frames it is their number over the rate they were sent at; by time stamps it is the longest time between two
frames that arrived, each direction on its own. The trial of a gateway whose reset shows has failed: frames were lost.
"""

from __future__ import annotations

from typing import ClassVar

from natxy.engine.messages import Progress, StreamResult, TrialRequest, TrialResult
from natxy.errors import TesterLimitError
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.reset import ResetConfig
from natxy.procedures.base import ProcedureResult
from natxy.procedures.bench import Bench
from natxy.procedures.steps import valid_step
from natxy.procedures.streams import traffic_request
from natxy.procedures.traffic import (
    TrafficProcedure,
    by_direction,
    highest,
    is_phase1,
    traffic_step,
    without_phase1,
)
from natxy.search.outcome import Attempt


class Reset(TrafficProcedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = ResetConfig

    def measure(self, bench: Bench) -> ProcedureResult:
        assert bench.rate is not None
        result = valid_step(bench, 1, bench.rate, lambda attempt: _step(bench, attempt))
        if is_phase1(result):
            return without_phase1(bench, result)
        streams = {stream.name: stream for stream in result.streams}
        lost: dict[str, float | None] = {n: stream.lost / stream.intended_rate_fps for n, stream in streams.items()}
        stamped = {name: _silence_s(stream) for name, stream in streams.items()}
        if silent := [name for name, stream in streams.items() if _silent_at_the_end(stream)]:
            figures = bench.experiment.procedure.figures
            remark = f"not forwarding again when the traffic ended, {', '.join(silent)}: raise `recovery`"
            if misrouted := sum(stream.misrouted for stream in streams.values()):
                remark = f"{misrouted:,} frames came through with other four-tuples than before: the gateway made the "
                remark += "connections anew"
            return ProcedureResult(dict.fromkeys(figure.name for figure in figures), remark=remark)
        return ProcedureResult(
            figures={"loss": highest(lost), "timestamps": highest(stamped)}
            | by_direction("loss", lost)
            | by_direction("timestamps", stamped),
            remark="" if any(lost.values()) else "no frame was lost: the reset did not interrupt forwarding",
        )


def _step(bench: Bench, attempt: Attempt) -> TrialResult:
    """The reset happens between two messages of the engine, which goes on sending all the while."""
    reset = _Reset(bench)
    result = traffic_step(bench, attempt, reset.traffic, meanwhile=reset.when_due)
    if reset.awaited:
        raise TesterLimitError(
            "the tester came to the reset only after the traffic had ended; raise the procedure's `recovery`"
        )
    return result


class _Reset:
    """Of the DUT, once. `awaited`: traffic was sent, and it has not taken place."""

    def __init__(self, bench: Bench) -> None:
        self._experiment = bench.experiment
        self._rate_fps = bench.rate
        self._gateway = bench.gateway
        self._config = _config(bench.experiment)
        self._after_s = self._config.steady_s(bench.experiment.timing.trial)
        self.awaited = False

    def traffic(self, seed: int) -> TrialRequest:
        assert self._rate_fps is not None
        self.awaited = True
        return traffic_request(self._experiment, self._rate_fps, seed)

    def when_due(self, progress: Progress) -> None:
        # Told late, the tester may have sent everything by then.
        if not self.awaited or not self._after_s <= progress.elapsed_s or progress.sent == progress.planned:
            return
        self.awaited = False
        if self._config.command is None:
            self._gateway.restart()
        else:
            self._gateway.transport.run(self._config.command, timeout_s=self._config.command_timeout)


def _silent_at_the_end(stream: StreamResult) -> bool:
    """Most of what was lost, the last frame included, lies in no gap between two that arrived."""
    if stream.last_lost is None or stream.last_lost.sequence < stream.planned - 1:
        return False
    return (_silence_s(stream) or 0.0) * stream.intended_rate_fps < stream.lost / 2


def _silence_s(stream: StreamResult) -> float | None:
    """Between two frames that arrived."""
    if not stream.lost:
        return 0.0
    return stream.longest_silence.duration_s if stream.longest_silence else None


def _config(experiment: Experiment) -> ResetConfig:
    assert isinstance(experiment.procedure, ResetConfig)
    return experiment.procedure
