# SPDX-License-Identifier: Apache-2.0
"""The simulated gateway's connections that expire because no frame uses them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from natxy.plan.model.terms import Order


@dataclass(frozen=True)
class Made:
    """Holds `connections` that were made evenly from `start_s` of the engine's clock on."""

    start_s: float
    rate_fps: float
    connections: int

    def before(self, time_s: float) -> int:
        """Returns how many connections were made before a time."""
        return min(max(0, math.ceil((time_s - self.start_s) * self.rate_fps - 1e-6)), self.connections)


def expired(made: Made, lifetime_s: float | None, start_s: float, rate_fps: float, order: Order) -> list[int]:
    """Returns the frames that find their connection expired, if each connection has one from `start_s` on."""
    if lifetime_s is None:
        return []
    connections = [*range(made.connections)]
    if order == Order.DECREASING:
        connections.reverse()
    elif order == Order.PSEUDORANDOM:
        random.Random(made.connections).shuffle(connections)
    return [
        frame
        for frame, connection in enumerate(connections)
        if start_s + frame / rate_fps - made.start_s - connection / made.rate_fps > lifetime_s
    ]
