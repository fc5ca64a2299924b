# SPDX-License-Identifier: Apache-2.0
"""The frames of connections that a simulated trial itself opens: which of them a gateway with a lifetime lets pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.requests import StreamKind, StreamSpec
from natxy.engine.messages.results import ArrivedFrame
from natxy.engine.simulation.losses import lost_frame


@dataclass(frozen=True)
class Lives:
    """Holds the streams of one pair of ports: its `opening` opens connections, and its `steps` are further frames."""

    opening: StreamSpec
    steps: Sequence[StreamSpec]

    @classmethod
    def of(cls, streams: Sequence[StreamSpec]) -> Iterator[Lives]:
        """Yields the lives of each pair."""
        for opening in streams:
            if opening.role == StreamRole.PHASE1:
                steps = [stream for stream in streams if stream.pair == opening.pair and stream is not opening]
                yield cls(opening, sorted(steps, key=lambda stream: stream.start_s))

    def at_once(self, lifetime_s: float | None) -> int:
        """Returns the most connections that a gateway with this lifetime has at once."""
        if lifetime_s is None:
            return self.opening.frames
        kept_s = max((stream.start_s for stream in self.steps), default=0.0) + lifetime_s
        return min(self.opening.frames, math.ceil(self.opening.rate_fps * kept_s - 1e-6))

    def expired(self, lifetime_s: float | None) -> Iterator[tuple[StreamSpec, int]]:
        """Yields each step with the number of the first connection that has expired, or of all if none has.

        Idle times rise from connection to connection, or are alike.
        """
        before = self.opening
        first = before.frames
        for stream in self.steps:
            if lifetime_s is not None:
                first = min(first, _first_idle_for(lifetime_s, before, stream))
            yield stream, min(first, stream.frames)
            before = stream

    def ends_of(self, stream: StreamSpec, received: int, opened: int) -> dict[str, object]:
        """Returns which frames of a stream arrived, the first ones, and how many replies had nothing to reply to."""
        found: dict[str, object] = {}
        if received < stream.frames:
            found["first_lost"] = lost_frame(stream, received)
        if received:
            last = lost_frame(stream, received - 1)
            found["last_arrived"] = ArrivedFrame(sequence=last.sequence, due_s=last.due_s)
        if stream.kind == StreamKind.REPLIES:
            absent = self.opening.frames - opened
            found |= {"absent": absent, "sent": stream.frames - absent}
        return found


def _first_idle_for(lifetime_s: float, before: StreamSpec, stream: StreamSpec) -> int:
    """Returns the first connection that is idle for longer than a lifetime between its frames in two streams."""
    left_s = lifetime_s - (stream.start_s - before.start_s)
    if left_s < 0:
        return 0
    more_s = 1 / stream.rate_fps - 1 / before.rate_fps
    return stream.frames if more_s <= 0 else min(stream.frames, math.floor(left_s / more_s) + 1)
