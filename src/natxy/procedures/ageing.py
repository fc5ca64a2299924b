# SPDX-License-Identifier: Apache-2.0
"""Finds the lifetime of an idle connection (RFC 4787 §4.3, RFC 5382 §5).

Many connections are brought into one state. Then each has a single frame from the right, its probe: connection i is
left idle for about i/n of the longest time. A gateway lets a probe through while the gateway keeps the connection, so
that one trial shows the lifetime. No connection has two probes, because the first would begin its lifetime anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import counted
from natxy.plan.procedures.ageing import AgeingConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.lives import live
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.traffic import ANY_LOSS
from natxy.search.outcome import Attempt

# So few probes may be lost for another reason than age.
_FEW: Final = 2


class Ageing(Procedure[AgeingConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        experiment, rate_fps = repetition.experiment, repetition.rate
        assert rate_fps is not None

        def step(attempt: Attempt) -> TrialResult:
            return live(repetition, attempt, self._idle)

        result = valid_step(repetition, 1, rate_fps, step)
        if result.verdict != Verdict.PASS:
            return no_result(self.config, f"connections were not brought into the state: {result.reason}")
        *_, probe = result.streams
        idle = _IdleTimes.of(experiment, rate_fps, probe)
        if not probe.received:
            all_gone = f"all were gone, also the first, left idle for {idle.of_probe(0):.3g} s"
            return no_result(self.config, all_gone, explained=True)
        assert probe.last_arrived is not None
        kept = idle.of_probe(probe.last_arrived.sequence)
        if probe.first_lost is None:
            return ProcedureResult(
                {"lifetime": kept, "youngest_gone": None, "oldest_kept": kept},
                lower_bound=kept,
                remark="at least this: all connections were kept; raise `longest`",
            )
        lifetime = idle.of_probe(probe.received - 0.5)
        gone = idle.of_probe(probe.first_lost.sequence)
        stray = _stray(probe)
        ends = (lifetime, lifetime) if 0 < stray <= _FEW else (min(kept, gone), max(kept, gone))
        return ProcedureResult(
            {"lifetime": lifetime, "youngest_gone": gone, "oldest_kept": kept},
            lower_bound=ends[0],
            upper_bound=ends[1],
            remark=_remark(stray, probe.planned),
        )

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        rate_fps = experiment.rate.rate if experiment.rate else None
        opened_s = (experiment.connections or 0) / rate_fps if rate_fps else 0.0
        return opened_s + self.config.longest + experiment.timing.drain + TRIAL_OVERHEAD_S

    def _idle(self, request: TrialRequest) -> TrialRequest:
        """Returns the request with a probe of each connection, spread over the longest idle time. Any may be lost."""
        opening, *_, probe = request.streams
        # The last connection is opened later than the first one.
        probed_s = self.config.longest + opening.frames / opening.rate_fps
        update = {"rate_fps": probe.frames / probed_s, "max_loss_ratio": ANY_LOSS, "max_backlog_s": None}
        return request.model_copy(update={"streams": [*request.streams[:-1], probe.model_copy(update=update)]})


@dataclass(frozen=True)
class _IdleTimes:
    """Says for how long each connection is left idle before its probe."""

    start_s: float
    spread_s: float

    @classmethod
    def of(cls, experiment: Experiment, rate_fps: float, probe: StreamResult) -> Self:
        *steps, asking = experiment.procedure.life(experiment.protocol)
        last_s = steps[-1].age_s if steps else 0.0
        return cls(asking.age_s - last_s, 1 / probe.intended_rate_fps - 1 / rate_fps)

    def of_probe(self, number: float) -> float:
        """Returns the idle time before a probe, in seconds; between two probes for a number between theirs."""
        return self.start_s + number * self.spread_s


def _stray(probe: StreamResult) -> int:
    """Returns how many probes at least do not fit one lifetime: lost although older connections were kept, or kept
    although younger ones were gone."""
    assert probe.first_lost is not None
    assert probe.last_arrived is not None
    return min(probe.received - probe.first_lost.sequence, probe.last_arrived.sequence + 1 - probe.received)


def _remark(stray: int, probes: int) -> str:
    if not stray:
        return ""
    if stray <= _FEW:
        return f"{counted(stray, 'probe')} of {probes:,} may have been lost for another reason"
    return f"connections do not end at one age: {counted(stray, 'probe')} of {probes:,} or more do not fit one lifetime"
