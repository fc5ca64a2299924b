# SPDX-License-Identifier: Apache-2.0
"""Bursty traffic (RFC 2544 §21)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import MaximumRate
from natxy.plan.procedures.figures import Figure


class BurstConfig(MaximumRate):
    name: Literal["burst"] = "burst"
    frames: Annotated[int, Field(ge=2, le=65536), Unit.FRAMES] = 16
    """Frames of a burst in each direction."""

    list_position: ClassVar = 320
    summary: ClassVar = "the smallest gap between bursts at which nothing is lost (RFC 2544 §21)"
    figures: ClassVar = (
        Figure("rate", "Highest average rate of bursts", Unit.FPS),
        Figure("gap", "Smallest gap between bursts", Unit.NS, with_headline=-1),
    )
    takes: ClassVar = frozenset(
        {"search", "directions", "connections", "phase1_rate", "phase1_loss", "background", "loss_tolerance"}
    )
    takes_mlrsearch: ClassVar = True
    needs_maximum_rate: ClassVar = False

    def gap_s(self, rate_fps: float) -> float:
        """Returns the time from the end of one burst to the start of the next at an average rate.

        If the rate of the medium is unknown, a burst counts as instantaneous.
        """
        period_s = self.frames / rate_fps
        return period_s if self.maximum_rate is None else max(0.0, period_s - self.frames / self.maximum_rate)
