# SPDX-License-Identifier: Apache-2.0
"""How many of an experiment's frames a line carries."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from natxy.plan.model.addresses import Translation
from natxy.plan.model.background import Background
from natxy.plan.model.terms import IP_HEADER_DIFFERENCE_BYTES, Family, SizeConvention
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import BitRate, line_rate_fps


class LineTraffic(BaseModel):
    """What decides it of a resolved experiment, or of one as a run's plan.yaml has it."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)

    line_rate: BitRate | None = None
    frame_size: int
    size_convention: SizeConvention = SizeConvention.PAIRED
    translation: Translation | None = None
    directions: Directions | None = None
    background: Background | None = None

    @property
    def longest_frame(self) -> int:
        """Bytes, FCS counted, of the longest foreground frame on either link: one from the IPv4 side may grow on its
        way."""
        if self.translation is None or self.size_convention == SizeConvention.PAIRED:
            return self.frame_size
        left, right = self.translation.kind.families
        senders = {Directions.FORWARD: (left,), Directions.REVERSE: (right,)}.get(
            self.directions or Directions.BIDIRECTIONAL, (left, right)
        )
        return self.frame_size + IP_HEADER_DIFFERENCE_BYTES * (Family.IPV4 in senders)

    @property
    def maximum_fps(self) -> float | None:
        """The theoretical maximum of one direction, foreground and background together; None without a line rate."""
        if self.line_rate is None:
            return None
        frame: float = self.longest_frame
        if self.background:
            frame += self.background.share * (self.background.frame_size - frame)
        return line_rate_fps(self.line_rate, frame)
