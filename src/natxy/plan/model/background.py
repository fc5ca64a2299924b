# SPDX-License-Identifier: Apache-2.0
"""Background traffic: native IPv6 through the same gateway beside what it translates (RFC 8219 §5.3)."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_interface
from typing import Annotated, Final

from pydantic import Field

from natxy.plan.model.addresses import LinkAddresses, LinkPair
from natxy.plan.model.base import PlanModel
from natxy.plan.model.frame_sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.model.terms import Family
from natxy.plan.model.units import Share

# What the engine interleaves comes in the same order again after so many frames at the most.
LONGEST_CYCLE: Final = 1000

DEFAULT_LINKS: Final = LinkPair(
    left=LinkAddresses(dut=ip_interface("2001:2:0:4000::1/64"), tester=ip_interface("2001:2:0:4000::2/64")),
    right=LinkAddresses(dut=ip_interface("2001:2:0:c000::1/64"), tester=ip_interface("2001:2:0:c000::2/64")),
)


class BackgroundPlan(PlanModel):
    """`share` is that of the frames of each direction. `left` and `right` are further addresses of the two links."""

    share: Share
    frame_size: Annotated[int, Field(ge=SMALLEST_FRAME[Family.IPV6], le=LONGEST_FRAME)] | None = Field(
        default=None, description="bytes, FCS counted; the experiment's, and at least 84, when not given"
    )
    left: LinkAddresses | None = None
    right: LinkAddresses | None = None


class Background(PlanModel):
    share: Share
    frame_size: int
    left: LinkAddresses
    right: LinkAddresses

    @property
    def links(self) -> LinkPair:
        return LinkPair(left=self.left, right=self.right)

    @property
    def turns(self) -> tuple[int, int]:
        """So many of every so many frames."""
        return Fraction(self.share).limit_denominator(LONGEST_CYCLE).as_integer_ratio()


def resolve_background(plan: BackgroundPlan, frame_size: int) -> Background:
    """`frame_size`: the experiment's."""
    default = {"frame_size": max(frame_size, SMALLEST_FRAME[Family.IPV6])} | DEFAULT_LINKS.model_dump()
    return Background.model_validate(default | plan.model_dump(exclude_none=True))
