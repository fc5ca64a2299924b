# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 §26.1), stateless or as phase 2 of RFC 9693."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, FrameTimeout
from natxy.plan.procedures.figures import Figure


class ThroughputConfig(FrameTimeout):
    name: Literal["throughput"] = "throughput"

    list_position: ClassVar = 90
    summary: ClassVar = "the highest rate at which every frame arrives (RFC 2544 §26.1)"
    figures: ClassVar = (Figure("rate", "Throughput", Unit.FPS),)
    supplies: ClassVar = "rate"
    takes: ClassVar = OF_NETWORK_FLOWS | {"search", "loss_tolerance", "baseline"}
    takes_mlrsearch: ClassVar = True
    sustained: ClassVar = True
    ends_early: ClassVar = True
