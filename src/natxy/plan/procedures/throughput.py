# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 §26.1), stateless or as phase 2 of RFC 9693."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import FrameTimeout
from natxy.plan.procedures.figures import Figure


class ThroughputConfig(FrameTimeout):
    name: Literal["throughput"] = "throughput"

    list_position: ClassVar = 100
    summary: ClassVar = "the highest rate at which every frame arrives (RFC 2544 §26.1)"
    figures: ClassVar = (Figure("rate", "Throughput", Unit.FPS),)
    supplies: ClassVar = "rate"
    takes: ClassVar = frozenset({
        "search", "directions", "flows", "connections", "phase1_rate", "background", "loss_tolerance", "baseline",
        "pairs", "start_interval",
    })  # fmt: skip
    takes_mlrsearch: ClassVar = True
    sustained: ClassVar = True
