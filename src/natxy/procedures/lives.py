# SPDX-License-Identifier: Apache-2.0
"""Searches for the highest rate of connections that come and go: of TCP (RFC 3511 §5.3, RFC 9411 §7.2), and of any kind
in a table in steady state.

All connections are opened at a rate R. Each has its further frames at fixed times after its first one. The rate passes
if every frame of every connection arrives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.results import StreamResult, Verdict
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, format_duration, format_quantity
from natxy.plan.procedures.lives import ChurnConfig, TcpConnectionRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.lives import live
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_rate
from natxy.results.trials import TrialRecord

_ROUNDING: Final = 1e-6


class TcpConnectionRate(Procedure[TcpConnectionRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        return search_rate(repetition, lambda attempt: live(repetition, attempt))

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return _trial_s(experiment)

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        """Says where handshakes, data and closings do not mix, because the last connection is opened before the first
        is closed."""
        assert experiment.connections is not None
        assert experiment.search is not None
        life_s = self.config.life_s(experiment.protocol)
        most_fps = experiment.search.max_rate
        opened_s = experiment.pair_count * experiment.connections / most_fps
        enough = math.ceil(most_fps * life_s / experiment.pair_count - _ROUNDING)
        if experiment.connections >= enough:
            return []
        return [
            limitation(
                f"{experiment.title}: at {format_quantity(most_fps, Unit.CPS)} all connections are opened in "
                f"{format_duration(opened_s)}, before the first is closed after {format_duration(life_s)}, so that "
                f"handshakes, data and closings do not mix; {enough:,} `connections` or a lower `max_rate` mix them."
            )
        ]


class Churn(Procedure[ChurnConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        found = search_rate(repetition, lambda attempt: live(repetition, attempt))
        rate_fps = found.figures["rate"]
        passed = _passed_at(repetition.trials, rate_fps)
        steady = self._steady(repetition.experiment, passed) if passed else dict.fromkeys(self._further())
        loss = self._loss(repetition.experiment, _failed_above(repetition.trials, rate_fps))
        return replace(found, figures={**found.figures, **steady, **loss})

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return _trial_s(experiment)

    def _further(self) -> list[str]:
        return [figure.name for figure in self.config.figures if figure != self.config.headline()]

    def _steady(self, experiment: Experiment, passed: TrialRecord) -> dict[str, float | None]:
        """Returns what a trial that passed says of the table, and of frames of new and old connections."""
        assert experiment.connections is not None
        connections = experiment.pair_count * experiment.connections
        old = [stream for stream in passed.result.streams if stream.name.startswith(self._later(experiment))]
        new = [stream for stream in passed.result.streams if stream.role == StreamRole.PHASE1]
        counts = passed.dut_counts
        return {
            "entries": counts.connections if counts else None,
            "expected_entries": self.config.left(connections, passed.step_rate),
            "delay_new": _delay_ns(new),
            "delay_old": _delay_ns(old),
        }

    def _later(self, experiment: Experiment) -> tuple[str, ...]:
        """Returns the names of the steps of older connections."""
        return tuple(step.name for step in self.config.life(experiment.protocol) if self.config.is_later(step))

    def _loss(self, experiment: Experiment, failed: TrialRecord | None) -> dict[str, float | None]:
        """Returns which share of the frames of new and of older connections a trial lost, in percent."""
        if failed is None:
            return {"loss_new": None, "loss_old": None}
        later = self._later(experiment)
        old = [stream for stream in failed.result.streams if stream.name.startswith(later)]
        new = [stream for stream in failed.result.streams if not stream.name.startswith(later)]
        return {"loss_new": _loss_percent(new), "loss_old": _loss_percent(old)}


def _loss_percent(streams: Sequence[StreamResult]) -> float:
    """Returns the share of the planned frames that did not arrive."""
    planned = sum(stream.planned for stream in streams)
    return 100 * (planned - sum(stream.received for stream in streams)) / planned


def _failed_above(trials: Sequence[TrialRecord], rate_fps: float | None) -> TrialRecord | None:
    """Returns the trial that failed at the lowest rate above `rate_fps`, the first such one."""
    failed = [trial for trial in trials if trial.verdict == Verdict.FAIL and trial.step_rate > (rate_fps or 0.0)]
    return min(failed, key=lambda trial: trial.step_rate, default=None)


def _passed_at(trials: Sequence[TrialRecord], rate_fps: float | None) -> TrialRecord | None:
    """Returns the last trial that passed at a rate."""
    passed = (trial for trial in reversed(trials) if trial.verdict == Verdict.PASS and trial.step_rate == rate_fps)
    return next(passed, None)


def _delay_ns(streams: Iterable[StreamResult]) -> float | None:
    """Returns the median delay of the stream with the longest; None if no delay is known."""
    return max((float(stream.delay.median_ns) for stream in streams if stream.delay), default=None)


def _trial_s(experiment: Experiment) -> float:
    """Returns about how long a trial lasts at the middle of the search."""
    assert experiment.connections is not None
    assert experiment.search is not None
    opened_s = experiment.pair_count * experiment.connections / experiment.search.middle_rate
    life_s = experiment.procedure.life_s(experiment.protocol)
    return TRIAL_OVERHEAD_S + opened_s + life_s + experiment.timing.expected_drain_s
