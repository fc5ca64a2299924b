# SPDX-License-Identifier: Apache-2.0
"""Trials of traffic for the procedures of RFC 2544 and RFC 8219, stateless or as phase 2 of RFC 9693 §4.7.

If the experiment has connections, the DUT's table is emptied and all are established again before every trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, StreamResult, TrialResult, Verdict
from natxy.plan.model.terms import EarlyEnd
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import STREAMS
from natxy.procedures.common.phase1 import begin_with_connections
from natxy.procedures.common.repetition import Repetition
from natxy.results.curves import Axis, Curve
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt

ANY_LOSS: Final = 1 - 1e-9
"""Tolerates any loss of an overload but the loss of every frame."""
# The percentiles of a curve of delays; the smallest delay is drawn at 0 %.
DRAWN_PERCENTILES: Final = (*map(float, range(1, 100)), 99.5, 99.9, 100.0)


def traffic_step(
    repetition: Repetition,
    attempt: Attempt,
    request: Callable[[int], TrialRequest],
    *,
    rate_fps: float | None = None,
    meanwhile: Callable[[Progress], None] | None = None,
) -> TrialResult | None:
    """Runs the trial that `request(seed)` returns, after the warm-up if the timing has one; returns None if connections
    are missing after phase 1.

    `rate_fps` is the rate per direction if it is not `attempt.rate`, because the steps vary something else. `meanwhile`
    also receives the progress of the traffic.
    """
    if repetition.experiment.connections is None:
        repetition.begin(attempt)
    else:
        prepared = begin_with_connections(repetition, attempt)
        if prepared is None or prepared.verdict != Verdict.PASS:
            return prepared

    def run(seed: int, on_progress: OnProgress) -> TrialResult:
        def report(progress: Progress) -> None:
            for receive in filter(None, (on_progress, meanwhile)):
                receive(progress)

        return repetition.engine.run_trial(request(seed), report)

    def warm_up(seed: int) -> None:
        repetition.engine.run_trial(beginning(request(seed), repetition.experiment.timing.warm_up))

    rate = attempt.rate if rate_fps is None else rate_fps
    before = warm_up if repetition.experiment.timing.warm_up else None
    return repetition.trial(attempt, TrialKind.TRAFFIC, Purpose.MEASURE, rate, run, before)


def beginning(traffic: TrialRequest, length_s: float) -> TrialRequest:
    """Returns the traffic of a trial in another length, without background and tagged frames."""
    streams = [
        stream.model_copy(
            update={"frames": max(1, round(length_s * stream.rate_fps)), "start_s": 0.0, "tagged": None, "ipdv": False}
        )
        for stream in traffic.streams
        if stream.role != StreamRole.BACKGROUND
    ]
    return traffic.model_copy(update={"streams": streams, "delay_histogram": False, "ends_early": EarlyEnd.NEVER})


def by_direction(name: str, values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Returns the figures that `per_direction` declares, from values by direction."""
    return {f"{name}_{direction}": values.get(direction) for direction in STREAMS}


def of_each_direction(
    streams: Iterable[StreamResult],
    value_of: Callable[[StreamResult], float | None],
    of_pairs: Callable[[Iterable[float]], float] = max,
) -> dict[str, float | None]:
    """Returns a value of each direction's foreground, which `of_pairs` makes of those of all pairs of interfaces; None
    where no stream has a value."""
    values = {name: [value_of(stream) for stream in each] for name, each in of_directions(streams).items()}
    known = {name: [value for value in each if value is not None] for name, each in values.items()}
    return {name: of_pairs(each) if each else None for name, each in known.items()}


def foreground(streams: Iterable[StreamResult]) -> list[StreamResult]:
    """Returns the streams of all pairs of interfaces, without those of the background traffic."""
    return [stream for stream in streams if stream.role == StreamRole.FOREGROUND]


def silent(streams: Iterable[StreamResult], has_delays: Callable[[StreamResult], object]) -> str:
    """Returns which streams of the foreground have no delays, as a remark, or an empty text.

    A headline that is the highest value of all streams has none then: the silent stream may be the slowest.
    """
    names = [stream.name for stream in foreground(streams) if not has_delays(stream)]
    return f"no frame that has a delay arrived: {', '.join(names)}" if names else ""


def of_directions(streams: Iterable[StreamResult]) -> dict[str, list[StreamResult]]:
    """Returns the foreground's streams by direction, those of all pairs of interfaces together."""
    given = foreground(streams)
    return {name: [stream for stream in given if stream.source.direction == name] for name in STREAMS}


def highest(values: Mapping[str, float | None]) -> float | None:
    return max((value for value in values.values() if value is not None), default=None)


def lost(streams: Iterable[StreamResult]) -> dict[str, float | None]:
    """Returns the frames that each direction's foreground lost."""
    return of_each_direction(streams, lambda stream: stream.lost, sum)


def delay_curve(stream: str, points: Iterable[tuple[float, float]]) -> Curve:
    """Returns a curve of points, each a percentage of the frames and the delay in ns that they do not exceed."""
    share = Axis("share of the frames", Unit.PERCENT)
    return Curve(f"delay_{stream.replace(' ', '_')}", f"Delay, {stream}", share, Axis("delay", Unit.NS), tuple(points))
