# SPDX-License-Identifier: Apache-2.0
"""Frame loss rate (RFC 2544 §26.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import Figure
from natxy.plan.procedures.maximum_rate import MaximumRate
from natxy.plan.procedures.per_direction import per_direction
from natxy.plan.procedures.rates import below_line

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment


class FrameLossRateConfig(MaximumRate):
    name: Literal["frame-loss-rate"] = "frame-loss-rate"
    step_percent: Annotated[float, Field(ge=0.1, le=10), Unit.PERCENT] = Field(
        default=10.0, description="of the maximum, between one rate and the next lower one"
    )

    summary: ClassVar = "the loss at 100 %, 90 %, … of a maximum rate (RFC 2544 §26.3)"
    figures: ClassVar = (
        Figure("lossless_rate", "Highest rate without loss", Unit.FPS),
        *per_direction("loss_at_maximum", "Frame loss at the maximum rate", Unit.PERCENT),
    )
    step_unit: ClassVar = Unit.FPS
    stateful: ClassVar = False
    takes: ClassVar = frozenset({"directions", "flows", "connections", "phase1_rate", "background"})

    def offered_percents(self) -> list[float]:
        """All rates that may be tried, from 100 % down."""
        return [100 - number * self.step_percent for number in range(math.ceil(100 / self.step_percent - 1e-9))]

    def deviations(self, experiment: Experiment) -> list[str]:
        return below_line(experiment, self.maximum_rate, "Frame loss is measured up to", "RFC 2544 §26.3")
