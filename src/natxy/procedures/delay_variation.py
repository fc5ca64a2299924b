# SPDX-License-Identifier: Apache-2.0
"""Packet delay variation (PDV) and inter-packet delay variation (IPDV), RFC 8219 §7.3, for each direction.

PDV is D99.9 − Dmin of all frames. IPDV is D(i) − D(i−1) in sending order, for every pair of frames that both arrived.
Both are those of one pair of interfaces; of several, a direction has that of the worst one.
"""

from __future__ import annotations

from collections.abc import Iterator

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import DelaySummary
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.delay_variation import IpdvConfig, PdvConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.rates import known_rate_step, off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.traffic import (
    DRAWN_PERCENTILES,
    by_direction,
    delay_curve,
    foreground,
    highest,
    lost,
)


class Pdv(Procedure[PdvConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(repetition, lambda request: request.model_copy(update={"delay_histogram": True}))
        delays = {stream.name: stream.delay for stream in foreground(result.streams) if stream.delay}
        variations: dict[str, float | None] = {s: float(delay.p999_ns - delay.min_ns) for s, delay in delays.items()}
        least: dict[str, float | None] = {stream: float(delay.min_ns) for stream, delay in delays.items()}
        return ProcedureResult(
            figures={"pdv": highest(variations)}
            | by_direction("pdv", variations)
            | by_direction("min_delay", least, min)
            | by_direction("lost", lost(result.streams), sum),
            curves=tuple(delay_curve(stream, _percentiles(delay)) for stream, delay in delays.items()),
        )

    def deviations(self, experiment: Experiment) -> list[str]:
        return off_throughput(experiment, "PDV is measured at", "RFC 8219 §7.3.1")


class Ipdv(Procedure[IpdvConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(repetition, _with_ipdv)
        variations = {stream.name: stream.ipdv for stream in foreground(result.streams) if stream.ipdv}
        largest: dict[str, float | None] = {stream: float(ipdv.max_ns) for stream, ipdv in variations.items()}
        return ProcedureResult(
            figures={"max": highest(largest)}
            | by_direction("min", {stream: float(ipdv.min_ns) for stream, ipdv in variations.items()}, min)
            | by_direction("median", {stream: float(ipdv.median_ns) for stream, ipdv in variations.items()})
            | by_direction("max", largest)
            | by_direction("lost", lost(result.streams), sum)
        )

    def deviations(self, experiment: Experiment) -> list[str]:
        return off_throughput(experiment, "IPDV is measured at", "RFC 8219 §7.3.2")


def _with_ipdv(request: TrialRequest) -> TrialRequest:
    return request.model_copy(update={"streams": [s.model_copy(update={"ipdv": True}) for s in request.streams]})


def _percentiles(delay: DelaySummary) -> Iterator[tuple[float, float]]:
    """Yields pairs of a percentage and the delay in ns, with the resolution of the histogram."""
    yield 0.0, delay.min_ns
    wanted = iter(DRAWN_PERCENTILES)
    percent = next(wanted)
    seen = 0
    for upper_ns, frames in delay.histogram or ():
        seen += frames
        while 100 * seen >= percent * delay.count * (1 - 1e-12):
            yield percent, min(upper_ns, delay.max_ns)
            if (following := next(wanted, None)) is None:
                return
            percent = following
