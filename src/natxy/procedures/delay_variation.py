# SPDX-License-Identifier: Apache-2.0
"""Packet delay variation (PDV) and inter-packet delay variation (IPDV), RFC 8219 §7.3, for each direction.

PDV is D99.9 − Dmin of all frames. IPDV is D(i) − D(i−1) in sending order, for every pair of frames that both arrived.
Of several pairs of interfaces, a direction has the delays of all of them; no frame is compared with another pair's.
"""

from __future__ import annotations

from natxy.engine.messages.requests import TrialRequest
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.delay_variation import IpdvConfig, PdvConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.delays import Distribution, joined, joined_by_direction
from natxy.procedures.common.rates import known_rate_step, off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.traffic import (
    DRAWN_PERCENTILES,
    by_direction,
    delay_curve,
    foreground,
    lost,
    of_directions,
    silent,
)


class Pdv(Procedure[PdvConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(repetition, _with_histograms)
        delays = joined_by_direction(result.streams, lambda stream: stream.delay)
        variations = {name: float(each.percentile(99.9) - each.least_ns) for name, each in delays.items()}
        of_streams = {stream.name: joined([stream.delay]) for stream in foreground(result.streams)}
        unknown = silent(result.streams, lambda stream: of_streams[stream.name])
        return ProcedureResult(
            figures={"pdv": None if unknown else max(variations.values())}
            | by_direction("pdv", variations)
            | by_direction("min_delay", {name: float(each.least_ns) for name, each in delays.items()})
            | by_direction("lost", lost(result.streams)),
            remark=unknown,
            curves=tuple(delay_curve(name, _points(each)) for name, each in of_streams.items() if each),
        )

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return off_throughput(experiment, "PDV is measured at", "RFC 8219 §7.3.1")


class Ipdv(Procedure[IpdvConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(repetition, _with_ipdv)
        variations = joined_by_direction(result.streams, lambda stream: stream.ipdv)
        # The extremes need no histogram, which the recorded trials of a resumed run may lack.
        parts = {
            name: [stream.ipdv for stream in those if stream.ipdv and stream.ipdv.pairs]
            for name, those in of_directions(result.streams).items()
        }
        least = {name: float(min(part.min_ns for part in those)) for name, those in parts.items() if those}
        largest = {name: float(max(part.max_ns for part in those)) for name, those in parts.items() if those}
        unknown = silent(result.streams, lambda stream: stream.ipdv and stream.ipdv.pairs)
        return ProcedureResult(
            figures={"max": None if unknown else max(largest.values())}
            | by_direction("min", least)
            | by_direction("median", {name: float(each.percentile(50)) for name, each in variations.items()})
            | by_direction("max", largest)
            | by_direction("lost", lost(result.streams)),
            remark=unknown,
        )

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return off_throughput(experiment, "IPDV is measured at", "RFC 8219 §7.3.2")


def _with_histograms(request: TrialRequest) -> TrialRequest:
    return request.model_copy(update={"delay_histogram": True})


def _with_ipdv(request: TrialRequest) -> TrialRequest:
    streams = [stream.model_copy(update={"ipdv": True}) for stream in request.streams]
    return _with_histograms(request).model_copy(update={"streams": streams})


def _points(delays: Distribution) -> list[tuple[float, float]]:
    """Returns pairs of a percentage and the delay in ns, with the resolution of the histogram."""
    return [(0.0, delays.least_ns), *((percent, delays.percentile(percent)) for percent in DRAWN_PERCENTILES)]
