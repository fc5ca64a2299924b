# SPDX-License-Identifier: Apache-2.0
"""The stalls of a simulated gateway: moments in which something else runs on its core.

Frames that arrive meanwhile wait in the buffer, which is empty before, and are lost once it is full.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import Silence
from natxy.engine.simulation.losses import Outage, end_s
from natxy.plan.gateways.simulated import Stalls


def drawn_stalls(stalls: Stalls | None, until_s: float, seed: str) -> list[Outage]:
    """Draws the stalls that begin before `until_s`: after each one, the time to the next is exponentially distributed,
    so that they come at any moment with the same probability."""
    drawn: list[Outage] = []
    if stalls is None:
        return drawn
    source, time_s = random.Random(seed), 0.0
    while (time_s := time_s + source.expovariate(1 / stalls.every)) < until_s:
        drawn.append(Outage(time_s, time_s + stalls.duration))
        time_s += stalls.duration
    return drawn


def lossy_part(stall: Outage, streams: Sequence[StreamSpec], buffer_frames: int) -> Outage:
    """Returns the part of a stall in which the frames of `streams` are lost."""
    rate_fps = sum(stream.rate_fps for stream in streams if stream.start_s <= stall.start_s < end_s(stream))
    covered_s = buffer_frames / rate_fps if rate_fps else 0.0
    return Outage(min(stall.start_s + covered_s, stall.end_s), stall.end_s)


def longest_silence(before: Silence | None, stalls: Iterable[Outage]) -> Silence | None:
    """Returns the longest of the stalls and of the silence that a stream has without them."""
    silences = [Silence(start_s=stall.start_s, duration_s=stall.end_s - stall.start_s) for stall in stalls]
    return max([*silences, *([before] if before else [])], key=lambda one: one.duration_s, default=None)
