# SPDX-License-Identifier: Apache-2.0
"""What the classic procedures have in common: trials of a fixed length, stateless or as phase 2 of RFC 9693 §4.1.

Where the experiment has connections, the DUT's table is emptied before every trial and all are established anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit
from natxy.plan.procedures.per_direction import STREAMS
from natxy.procedures.common.base import Procedure
from natxy.procedures.common.phase1 import begin_with_connections, phase1_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.results.curves import Axis, Curve
from natxy.results.records import Purpose, TrialKind
from natxy.search.outcome import Attempt

# Of a curve of delays, in percent; the least is drawn at 0 %.
DRAWN_PERCENTILES: Final = (*map(float, range(1, 100)), 99.5, 99.9, 100.0)


class TrafficProcedure(Procedure):
    """A step is one trial of the experiment's `traffic_s`, and its phase 1."""

    def expected_steps(self, experiment: Experiment) -> int:
        return 1

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return phase1_s(experiment, phase1_fps) + experiment.traffic_s + experiment.timing.drain


def traffic_step(
    repetition: Repetition,
    attempt: Attempt,
    request: Callable[[int], TrialRequest],
    *,
    rate_fps: float | None = None,
    meanwhile: Callable[[Progress], None] | None = None,
) -> TrialResult | None:
    """`request(seed)` at `rate_fps` per direction, which is `attempt.rate` unless something else is varied; None where
    connections are missing after phase 1. `meanwhile` hears of the traffic's progress, too."""
    if repetition.experiment.connections is None:
        repetition.begin(attempt)
    else:
        prepared = begin_with_connections(repetition, attempt)
        if prepared is None or prepared.verdict != Verdict.PASS:
            return prepared

    def run(seed: int, on_progress: OnProgress) -> TrialResult:
        def heard(progress: Progress) -> None:
            for hear in (on_progress, meanwhile):
                if hear:
                    hear(progress)

        return repetition.engine.run_trial(request(seed), heard)

    rate = attempt.rate if rate_fps is None else rate_fps
    return repetition.trial(attempt, TrialKind.TRAFFIC, Purpose.MEASURE, rate, run)


def known_rate_step(repetition: Repetition, request: Callable[[float, int], TrialRequest]) -> TrialResult:
    """The only step of a procedure that measures at the experiment's `rate`; `request(rate_fps, seed)`."""
    rate_fps = repetition.rate
    assert rate_fps is not None
    return valid_step(
        repetition, 1, rate_fps, lambda attempt: traffic_step(repetition, attempt, lambda seed: request(rate_fps, seed))
    )


def by_direction(name: str, values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Figures as `per_direction` declares them; `values` by stream."""
    return {f"{name}_{stream}": values.get(stream) for stream in STREAMS}


def foreground(streams: Iterable[StreamResult]) -> list[StreamResult]:
    """Without the background traffic."""
    return [stream for stream in streams if stream.name in STREAMS]


def highest(values: Mapping[str, float | None]) -> float | None:
    return max((value for value in values.values() if value is not None), default=None)


def lost(streams: Iterable[StreamResult]) -> dict[str, float | None]:
    return {stream.name: float(stream.lost) for stream in streams}


def delay_curve(stream: str, points: Iterable[tuple[float, float]]) -> Curve:
    """`points`: a percentage of the frames, and the delay in ns that so many of them don't exceed."""
    share = Axis("share of the frames", Unit.PERCENT)
    return Curve(f"delay_{stream}", f"Delay, {stream}", share, Axis("delay", Unit.NS), tuple(points))
