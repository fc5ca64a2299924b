# SPDX-License-Identifier: Apache-2.0
"""Frame loss rate (RFC 2544 §26.3)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, FrameTimeout, MaximumRate
from natxy.plan.procedures.figures import Figure, per_direction


class FrameLossRateConfig(FrameTimeout, MaximumRate):
    name: Literal["frame-loss-rate"] = "frame-loss-rate"
    step_percent: Annotated[float, Field(ge=0.1, le=10), Unit.PERCENT] = 10.0
    """Step to the next lower rate, in percent of `maximum_rate`, at most 10."""

    list_position: ClassVar = 110
    summary: ClassVar = "the loss at 100 %, 90 %, … of a maximum rate (RFC 2544 §26.3)"
    figures: ClassVar = (
        Figure("lossless_rate", "Highest rate without loss", Unit.FPS),
        *per_direction("loss_at_maximum", "Frame loss at the maximum rate", Unit.PERCENT),
    )
    takes: ClassVar = OF_NETWORK_FLOWS

    def offered_percents(self) -> list[float]:
        """Returns all rates that may be tried, as shares of the maximum rate, from 100 % down."""
        return [100 - number * self.step_percent for number in range(math.ceil(100 / self.step_percent - 1e-9))]
