# SPDX-License-Identifier: Apache-2.0
"""Finds searches that allow no loss through translators which now and then send a UDP checksum of 0 to IPv6.

A checksum that is computed as 0 has to be sent as 0xFFFF (RFC 8200 §8.1). A host discards such a frame, so that natxy
counts it as lost.
"""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.plan.resolved_plan import ResolvedPlan

# One's complement sums are spread over as many values.
_FRAMES_PER_ZERO: Final = 65_536
TOLERANCE: Final = 1e-4
"""Is several times the share of these frames, so that a search finds the rate of the gateway itself."""
TOLERANCE_TEXT: Final = f"{100 * TOLERANCE:g}%"


def to_ipv6(families: tuple[Family, Family]) -> Directions | None:
    """Returns the direction from IPv4 to IPv6 between the left and the right side; None without a translation."""
    if families[0] == families[1]:
        return None
    return Directions.REVERSE if families[0] == Family.IPV6 else Directions.FORWARD


def tolerance_needed(gateway: GatewayModel, families: tuple[Family, Family]) -> dict[str, str]:
    """Returns the `loss_tolerance` of searches through a gateway between the left and the right side, by direction;
    nothing if it needs none."""
    direction = to_ipv6(families) if gateway.sends_zero_checksums else None
    return {direction.value: TOLERANCE_TEXT} if direction else {}


def why_tolerance(driver: str) -> str:
    """Returns what such a gateway does, without a full stop."""
    return f"{driver} sends one frame in {_FRAMES_PER_ZERO:,} to IPv6 with a UDP checksum of 0"


def without_tolerance(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of experiments that need a loss tolerance and have none, by the sentence that says which. TCP
    needs none: its checksum may be 0."""
    found: dict[str, list[str]] = {}
    for experiment in plan.experiments:
        if experiment.protocol == Protocol.TCP:
            continue
        links = experiment.families_of_links
        # Behind a gateway that sends such a frame, another one discards it as a host does.
        directions = {
            (hop.driver, to_ipv6((left, right)))
            for hop, left, right in zip(experiment.gateway.boxes, links, links[1:], strict=False)
            if hop.sends_zero_checksums
        }
        for driver, direction in sorted(directions, key=str):
            if direction and _is_intolerant(experiment, direction):
                text = (
                    f"{why_tolerance(driver)}, which counts as lost, so that the search finds how short its trials "
                    f"have to be; set `loss_tolerance: {{{direction}: {TOLERANCE_TEXT}}}`"
                )
                found.setdefault(text, []).append(experiment.name)
    return found


def _is_intolerant(experiment: Experiment, direction: Directions) -> bool:
    """Returns true if a trial has frames of this direction and fails when it loses one of them."""
    tolerance = experiment.loss_tolerance
    if tolerance is None:
        return False
    # Phase 1 alone has frames from the left.
    replies = experiment.alpha is not None or experiment.procedure.life(experiment.protocol)
    one_way = experiment.procedure.stateful and not replies
    sent = Directions.FORWARD if one_way else experiment.directions or Directions.BIDIRECTIONAL
    tolerated = tolerance.reverse if direction == Directions.REVERSE else tolerance.forward
    return sent in (direction, Directions.BIDIRECTIONAL) and tolerated < 1 / _FRAMES_PER_ZERO
