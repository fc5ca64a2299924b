# SPDX-License-Identifier: Apache-2.0
"""Receive rate: the forwarding rate at maximum offered load (RFC 2285 §3.6.2)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, MaximumRate
from natxy.plan.procedures.figures import CORE_SPEED, Figure, per_direction


class ReceiveRateConfig(MaximumRate):
    name: Literal["receive-rate"] = "receive-rate"
    trials: Annotated[int, Field(ge=1, le=1000)] = 10
    """Trials of a repetition, whose median is its result."""

    list_position: ClassVar = 120
    summary: ClassVar = "the rate at which frames arrive in an overload (RFC 2285 §3.6.2)"
    figures: ClassVar = (
        Figure("receive_rate", "Receive rate", Unit.FPS),
        *per_direction("receive_rate", "Receive rate", Unit.FPS),
        Figure("offered_load", "Offered load", Unit.FPS, of_tester=True),
        CORE_SPEED,
    )
    # Frames of pairs that start later would have the gateway to themselves for a while.
    takes: ClassVar = OF_NETWORK_FLOWS - {"background", "start_interval"} | {"baseline"}
    expects_loss: ClassVar = True
