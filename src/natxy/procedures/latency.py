# SPDX-License-Identifier: Apache-2.0
"""Latency (RFC 8219 §7.2): typical (TL, the median) and worst case (WCL, the 99.9th percentile) of tagged frames.

Of each direction on its own. Delays are those of RFC 1242 §3.8 for store-and-forward devices. Lost tagged frames have
none: they are counted, and left out of both percentiles.
"""

from __future__ import annotations

import math
from typing import ClassVar

from natxy.engine.messages.requests import StreamSpec, TaggedFrames
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.latency import LatencyConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import tagged_request
from natxy.procedures.common.traffic import (
    DRAWN_PERCENTILES,
    TrafficProcedure,
    by_direction,
    delay_curve,
    foreground,
    highest,
    known_rate_step,
)
from natxy.results.statistics import percentile, summarize


class Latency(TrafficProcedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = LatencyConfig

    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(
            repetition, lambda rate_fps, seed: tagged_request(repetition.experiment, rate_fps, seed, _tagged)
        )
        tagged = {stream.name: stream.tagged_delays_ns or [] for stream in foreground(result.streams)}
        delays = {stream: [ns for ns in given if ns is not None] for stream, given in tagged.items()}
        summaries = {stream: summarize(values) for stream, values in delays.items()}
        typical = {stream: summary.median if summary else None for stream, summary in summaries.items()}
        worst = {stream: percentile(values, 99.9) if values else None for stream, values in delays.items()}
        lost = {stream: float(given.count(None)) for stream, given in tagged.items()}
        return ProcedureResult(
            figures={"tl": highest(typical), "wcl": highest(worst)}
            | by_direction("tl", typical)
            | by_direction("wcl", worst)
            | by_direction("lost_tagged", lost),
            remark=_remark(repetition.experiment, {stream: len(given) for stream, given in tagged.items()}),
            curves=tuple(
                delay_curve(stream, [(0, min(values)), *((p, percentile(values, p)) for p in DRAWN_PERCENTILES)])
                for stream, values in delays.items()
                if values
            ),
        )


def _tagged(experiment: Experiment, stream: StreamSpec) -> TaggedFrames:
    """Evenly spread from the end of the warm-up to the end of the stream; all where there are fewer than asked."""
    config = _config(experiment)
    warm_up = math.ceil(stream.rate_fps * config.warm_up_s(experiment.timing.trial))
    first = min(warm_up, stream.frames - 1)
    stride = max(1, (stream.frames - first) // config.tagged_frames)
    return TaggedFrames(first=first, stride=stride, count=min(config.tagged_frames, stream.frames - first))


def _remark(experiment: Experiment, tagged: dict[str, int]) -> str:
    asked = _config(experiment).tagged_frames
    fewer = [f"{stream} {count}" for stream, count in tagged.items() if count < asked]
    return f"fewer frames than the {asked} asked follow the warm-up: {', '.join(fewer)}" if fewer else ""


def _config(experiment: Experiment) -> LatencyConfig:
    assert isinstance(experiment.procedure, LatencyConfig)
    return experiment.procedure
