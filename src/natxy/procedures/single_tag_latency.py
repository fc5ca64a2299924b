# SPDX-License-Identifier: Apache-2.0
"""Latency by one tagged frame (RFC 2544 §26.2): the first after the warm-up, of each direction on its own."""

from __future__ import annotations

import math
from typing import ClassVar

from natxy.engine.messages.requests import StreamSpec, TaggedFrames
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.single_tag_latency import SingleTagLatencyConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import tagged_request
from natxy.procedures.common.traffic import TrafficProcedure, by_direction, highest, known_rate_step


class SingleTagLatency(TrafficProcedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = SingleTagLatencyConfig

    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = known_rate_step(
            repetition, lambda rate_fps, seed: tagged_request(repetition.experiment, rate_fps, seed, _tagged)
        )
        delays = {stream.name: stream.tagged_delays_ns[0] for stream in result.streams if stream.tagged_delays_ns}
        lost = [stream for stream, ns in delays.items() if ns is None]
        latencies = {stream: None if ns is None else float(ns) for stream, ns in delays.items()}
        return ProcedureResult(
            figures={"latency": None if lost else highest(latencies)}
            | by_direction("latency", latencies)
            | by_direction("lost_tagged", {stream: float(ns is None) for stream, ns in delays.items()}),
            remark=f"the tagged frame was lost: {', '.join(lost)}" if lost else "",
        )


def _tagged(experiment: Experiment, stream: StreamSpec) -> TaggedFrames:
    config = experiment.procedure
    assert isinstance(config, SingleTagLatencyConfig)
    warm_up = math.ceil(stream.rate_fps * config.warm_up_s(experiment.timing.trial))
    return TaggedFrames(first=min(warm_up, stream.frames - 1), stride=1, count=1)
