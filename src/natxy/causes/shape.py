# SPDX-License-Identifier: Apache-2.0
"""Puts into words how the loss of a search depends on the rate, and when in the trials it happens."""

from __future__ import annotations

from typing import Final

from natxy.causes.facts import Facts
from natxy.plan.model.units import format_duration

# Trials are looked at in quarters.
_EARLY: Final = 0.25
_LATE: Final = 0.75
# A loss that grows or falls by less may be chance.
_UNLIKE: Final = 1.5


def shape(facts: Facts) -> str:
    """Returns a clause on the loss at the rates that failed; an empty text if they are too few to tell."""
    lowest, highest = facts.points[0], facts.points[-1]
    whatever = "so the loss does not depend on the rate"
    if facts.same_count:
        return f"as many {facts.what} are lost at every rate {_range(facts, highest.rate)}, {whatever}"
    if facts.same_share:
        share = percent(lowest.share)
        return f"{share} of the {facts.what} are lost at every rate {_range(facts, facts.steady[-1].rate)}, {whatever}"
    at_lowest, at_highest = (f"{percent(each.share)} at {facts.rate(each.rate)}" for each in (lowest, highest))
    if facts.falls:
        return f"more {facts.what} are lost the lower the rate is: {at_lowest}, {at_highest}"
    if facts.spans and lowest.share * _UNLIKE < highest.share:
        return f"the loss grows with the rate: {at_lowest}, {at_highest}"
    return ""


def place(facts: Facts) -> str:
    """Returns a clause on when in the trials frames are lost, if that is not all the time; otherwise an empty text."""
    within, shortest_s = facts.lost_within_s, min(trial.duration_s for trial in facts.failures)
    if within and within[1] < _EARLY * shortest_s:
        return f"all in the first {format_duration(max(0.001, within[1]))} of a trial"
    if within and within[0] > _LATE * shortest_s:
        return f"only after the first {format_duration(within[0])} of a trial"
    return ""


def how_many(facts: Facts) -> str:
    """Returns the number of what is missing, such as `4 frames each way`."""
    lost = {stream.lost for stream in facts.typical.result.streams}
    if len(facts.typical.result.streams) > 1 and len(lost) == 1:
        return f"{lost.pop():,} {facts.what} each way"
    return f"{facts.lost:,} {facts.what}"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _range(facts: Facts, last: float) -> str:
    return f"from {facts.rate(facts.points[0].rate)} to {facts.rate(last)}"
