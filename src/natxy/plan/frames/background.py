# SPDX-License-Identifier: Apache-2.0
"""Background traffic: native IPv6 through the gateway that translates the foreground (RFC 8219 §5.3)."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_interface
from typing import Annotated, Final

from pydantic import Field

from natxy.plan.frames.sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.model.addresses import LinkAddresses, LinkPair
from natxy.plan.model.base import PlanModel
from natxy.plan.model.terms import Family
from natxy.plan.model.units import Share

# The engine interleaves foreground and background in an order that repeats after at most this many frames.
LONGEST_CYCLE: Final = 1000

DEFAULT_LINKS: Final = LinkPair(
    left=LinkAddresses(dut=ip_interface("2001:2:0:4000::1/64"), tester=ip_interface("2001:2:0:4000::2/64")),
    right=LinkAddresses(dut=ip_interface("2001:2:0:c000::1/64"), tester=ip_interface("2001:2:0:c000::2/64")),
)


class BackgroundPlan(PlanModel):
    """Background traffic as written. `left` and `right` are further addresses of the two links."""

    share: Share
    """Share of the frames of each direction, in tenths of 1 %."""
    frame_size: Annotated[int, Field(ge=SMALLEST_FRAME[Family.IPV6], le=LONGEST_FRAME)] | None = None
    """Bytes of a frame, FCS included; default: the experiment's mean, at least 84."""
    left: LinkAddresses | None = None
    """IPv6 addresses on this side's link; default: in 2001:2:0:4000::/64."""
    right: LinkAddresses | None = None
    """IPv6 addresses on this side's link; default: in 2001:2:0:c000::/64."""


class Background(PlanModel):
    """Background traffic with everything decided. `share` is that of the frames of each direction."""

    share: Share
    frame_size: int
    left: LinkAddresses
    right: LinkAddresses

    @property
    def links(self) -> LinkPair:
        return LinkPair(left=self.left, right=self.right)

    @property
    def turns(self) -> tuple[int, int]:
        """(background frames, frames): the exact ratio, in the smallest whole numbers."""
        return Fraction(self.share).limit_denominator(LONGEST_CYCLE).as_integer_ratio()


def resolve_background(plan: BackgroundPlan, frame_size: int) -> Background:
    """Adds the defaults; `frame_size` is the mean of the experiment's."""
    default = {"frame_size": max(frame_size, SMALLEST_FRAME[Family.IPV6])} | DEFAULT_LINKS.model_dump()
    return Background.model_validate(default | plan.model_dump(exclude_none=True))
