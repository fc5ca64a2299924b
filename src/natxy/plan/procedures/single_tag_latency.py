# SPDX-License-Identifier: Apache-2.0
"""Latency by one tagged frame a stream (RFC 2544 §26.2), which RFC 8219 §7.2 replaces by hundreds."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import Figure
from natxy.plan.procedures.delays import DELAY_DEFINITION
from natxy.plan.procedures.latency import LatencyStream
from natxy.plan.procedures.per_direction import per_direction


class SingleTagLatencyConfig(LatencyStream):
    name: Literal["single-tag-latency"] = "single-tag-latency"

    source: ClassVar = "RFC 2544 §26.2"
    summary: ClassVar = "the delay of one tagged frame a stream, averaged over the repetitions (RFC 2544 §26.2)"
    figures: ClassVar = (
        Figure("latency", "Latency of one tagged frame, the slower direction", Unit.NS),
        *per_direction("latency", "Latency of one tagged frame", Unit.NS),
        *per_direction("lost_tagged", "Tagged frames lost", Unit.FRAMES),
    )
    reports_mean: ClassVar = True
    stated: ClassVar = DELAY_DEFINITION | {
        "Lost tagged frames": "counted; a repetition without its frame has no latency"
    }
