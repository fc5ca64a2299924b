# SPDX-License-Identifier: Apache-2.0
"""Finds between which gateways of a path a trial lost its frames, from the counters of their interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import StreamResult, TrialResult
from natxy.plan.model.units import enumerated
from natxy.results.dut_load import DutLoad, InterfaceLoad

# Other frames, such as requests for addresses, are counted too.
_NEARLY: Final = 0.9
_LEAST_NAMED: Final = 0.05
# The veth pair of a lab counts a frame here that the next gateway's core had no room for.
_NOT_SENT: Final = "tx_dropped"


def place_of_loss(result: TrialResult, load: DutLoad | None, gateways: Sequence[str]) -> str:
    """Returns in which gateways, or on which links, nearly all lost frames were lost; empty if that is not known.

    `gateways` has the names from left to right.
    """
    found = lost_by_place(result, load, gateways)
    lost = sum(stream.lost - stream.unsent for stream in result.streams)
    named = {place: number for place, number in found.items() if number >= max(1, _LEAST_NAMED * lost)}
    if lost <= 0 or not _NEARLY * lost <= sum(named.values()) <= lost / _NEARLY:
        return ""
    first, *others = named.items()
    return enumerated([f"{first[1]:,} of the frames were lost {first[0]}", *(f"{n:,} {place}" for place, n in others)])


def lost_by_place(result: TrialResult, load: DutLoad | None, gateways: Sequence[str]) -> dict[str, int]:
    """Returns how many frames were lost in each gateway and on each link, in the order from left to right; nothing for
    a single gateway, or where the interfaces' counters are not known.

    The interfaces of `load` are in the order of the gateways, the left one first.
    """
    interfaces = load.interfaces if load else ()
    if len(gateways) < 2 or len(interfaces) != 2 * len(gateways):
        return {}
    found: dict[str, int] = {}
    for side in Side:
        for place, number in _lost(side, result.streams, interfaces, gateways):
            found[place] = found.get(place, 0) + number
    return found


def _lost(
    side: Side, streams: Sequence[StreamResult], interfaces: Sequence[InterfaceLoad], gateways: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Yields how many frames from one side are missing at each place, in the order in which they come to it."""
    own = [stream for stream in streams if stream.source == side]
    before, passed = "the tester", sum(stream.sent for stream in own)
    pairs = [*zip(gateways, interfaces[::2], interfaces[1::2], strict=True)]
    for name, left, right in pairs if side == Side.LEFT else reversed(pairs):
        near, far = (left, right) if side == Side.LEFT else (right, left)
        yield _link(before, name, side), passed - near.received
        before, passed = name, far.sent + far.lost.get(_NOT_SENT, 0)
        yield f"in {name}", near.received - passed
    yield _link(before, "the tester", side), passed - sum(map(_arrived, own))


def _link(before: str, after: str, side: Side) -> str:
    left, right = (before, after) if side == Side.LEFT else (after, before)
    return f"between {left} and {right}"


def _arrived(stream: StreamResult) -> int:
    return stream.received + stream.timed_out + stream.duplicate + stream.corrupt + stream.misrouted
