# SPDX-License-Identifier: Apache-2.0
"""The lifetime of an idle connection (RFC 4787 §4.3, RFC 5382 §5).

Many connections are brought into one state, and then each has a single frame from the right, each a little later than
the one before it: connection i is left idle for about i/n of the longest time. A gateway lets the frame through while
it keeps the connection, so that one trial shows the lifetime, and no frame makes a connection live longer that is asked
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.ageing import AgeingConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.lives import live
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.traffic import ANY_LOSS
from natxy.search.outcome import Attempt

# A probe or two may be lost for another reason than age.
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
                remark="at least this: all connections were kept",
            )
        gone = idle.of_probe(probe.first_lost.sequence)
        lifetime = idle.of_probe(probe.received - 0.5)
        return ProcedureResult(
            {"lifetime": lifetime, "youngest_gone": gone, "oldest_kept": kept},
            lower_bound=min(kept, gone),
            upper_bound=max(kept, gone),
            remark=_scattered(probe),
        )

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return self.config.longest + experiment.timing.drain + TRIAL_OVERHEAD_S

    def _idle(self, request: TrialRequest) -> TrialRequest:
        """Returns the request with a probe of each connection, spread over the longest idle time. Any may be lost."""
        *others, probe = request.streams
        update = {"rate_fps": probe.frames / self.config.longest, "max_loss_ratio": ANY_LOSS, "max_backlog_s": None}
        return request.model_copy(update={"streams": [*others, probe.model_copy(update=update)]})


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


def _scattered(probe: StreamResult) -> str:
    """Returns a remark if younger connections were gone while older ones were kept."""
    assert probe.first_lost is not None
    assert probe.last_arrived is not None
    between = probe.last_arrived.sequence + 1 - probe.first_lost.sequence
    if between <= _FEW:
        return ""
    return (
        f"connections do not end at one age: {between:,} of {probe.planned:,} lie between the youngest that was gone "
        "and the oldest that was kept"
    )
