# SPDX-License-Identifier: Apache-2.0
"""Checks that no translator cuts the test frames into fragments, which natxy would count as lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.frames.sizes import ETHERNET_FRAMING_BYTES
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family

# The smallest MTU that a link of IPv6 has (RFC 8200 §5).
_SMALLEST_MTU: Final = 1280
_LONGER_IN_IPV6: Final = 20
_LONGEST_FRAME: Final = _SMALLEST_MTU - _LONGER_IN_IPV6 + ETHERNET_FRAMING_BYTES


def check_fragments(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Refuses frames of IPv4 that the first translator on their way would send to IPv6 as fragments (RFC 7915 §4)."""
    if experiment.dont_fragment or experiment.procedure.between_hosts:
        return
    size = max(experiment.sent_frames(Family.IPV4).sizes)
    if size <= _LONGEST_FRAME:
        return
    first = [_first_translator(experiment, side == "right") for side in experiment.senders]
    if cutter := next((box.driver for box in first if box and box.cuts_long_packets), None):
        text = (
            f"frames of {size} bytes are packets of {size - ETHERNET_FRAMING_BYTES + _LONGER_IN_IPV6} bytes in IPv6, "
            f"and {cutter} cuts packets without DF to the smallest MTU of IPv6, {_SMALLEST_MTU} bytes: give "
            f"`dont_fragment: true`, or frames of at most {_LONGEST_FRAME} bytes"
        )
        yield Problem((*location, "dont_fragment"), text)


def _first_translator(experiment: Experiment, from_right: bool) -> GatewayModel | None:
    """Returns the first gateway that translates frames of a side from IPv4 to IPv6; later ones get what it sends."""
    way = slice(None, None, -1 if from_right else 1)
    boxes, links = experiment.gateway.boxes[way], experiment.forms_of_links[way]
    for box, near, far in zip(boxes, links, links[1:], strict=False):
        if near.family == Family.IPV6:
            return None
        if far.family == Family.IPV6 and not far.in_softwire:
            return box
    return None
