# SPDX-License-Identifier: Apache-2.0
"""The bindings of a simulated core's subscribers, which the traffic of a trial finds or misses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.simulation.losses import Outage, end_s


@dataclass
class SimulatedBindings:
    """Knows who had no binding when, in seconds of the present trial, and when a change let nothing pass."""

    changes: list[tuple[float, tuple[SubscriberRange, ...]]] = field(default_factory=lambda: [(0.0, ())])
    silences: list[Outage] = field(default_factory=list)

    def begin_trial(self) -> None:
        """Forgets all but who has no binding now."""
        self.changes = [(0.0, self.changes[-1][1])]
        self.silences = []

    def change(self, without: Sequence[SubscriberRange], now_s: float, delay_s: float, outage_s: float) -> None:
        self.changes.append((now_s + delay_s, (*without,)))
        self.silences.append(Outage(now_s, now_s + outage_s))

    def outages(self, stream: StreamSpec) -> Iterator[Outage]:
        """Yields the times in which a stream of subscribers that have, or lack, a binding together does not pass."""
        yield from self.silences
        if stream.flows is None or not (stream.frame.softwire or stream.frame.mapping):
            return
        flows = stream.flows
        own = flows.source_address if stream.source == Side.LEFT else flows.destination_address
        # All addresses of the stream have the same bits but those that vary.
        first = int(own.address) & ~((1 << (own.max or 0).bit_length()) - 1) | (own.min or 0)
        for (since_s, without), (until_s, _) in pairwise([*self.changes, (math.inf, ())]):
            if any(int(low) <= first <= int(high) for low, high in (each.addresses for each in without)):
                yield Outage(since_s, min(until_s, end_s(stream)))
