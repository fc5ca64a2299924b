# SPDX-License-Identifier: Apache-2.0
"""The theoretical maximum: the rate of an experiment's frames that a line can carry."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from natxy.plan.model.addresses import Translation
from natxy.plan.model.background import Background
from natxy.plan.model.frame_sizes import line_rate_fps
from natxy.plan.model.terms import IP_HEADER_DIFFERENCE_BYTES, Family, SizeConvention
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import BitRate


class LineTraffic(BaseModel):
    """The settings of a resolved experiment, or of one in a run's plan.yaml, that decide on the maximum."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)

    line_rate: BitRate | None = None
    frame_size: int
    size_convention: SizeConvention = SizeConvention.PAIRED
    translation: Translation | None = None
    directions: Directions | None = None
    background: Background | None = None

    @property
    def longest_frame(self) -> int:
        """The longest foreground frame on either link, in bytes, including the FCS. A translator may make a frame from
        the IPv4 side longer."""
        if self.translation is None or self.size_convention == SizeConvention.PAIRED:
            return self.frame_size
        left, right = self.translation.kind.families
        senders = {Directions.FORWARD: (left,), Directions.REVERSE: (right,)}.get(
            self.directions or Directions.BIDIRECTIONAL, (left, right)
        )
        return self.frame_size + IP_HEADER_DIFFERENCE_BYTES * (Family.IPV4 in senders)

    @property
    def maximum_fps(self) -> float | None:
        """The theoretical maximum of one direction, foreground plus background; None without a line rate."""
        if self.line_rate is None:
            return None
        frame: float = self.longest_frame
        if self.background:
            frame += self.background.share * (self.background.frame_size - frame)
        return line_rate_fps(self.line_rate, frame)
