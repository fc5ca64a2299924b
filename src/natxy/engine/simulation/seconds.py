# SPDX-License-Identifier: Apache-2.0
"""A simulated stream second by second, from the trial's start."""

from __future__ import annotations

import math
from collections.abc import Sequence

from natxy.engine.messages.requests import StreamSpec
from natxy.engine.simulation.losses import Outage, during


def sent_per_second(stream: StreamSpec) -> list[int]:
    return [len(second) for second in _seconds(stream)]


def received_per_second(stream: StreamSpec, received: int, unheard: Sequence[range] = ()) -> list[int]:
    """None of the frames of `unheard`, which are apart from each other; what else is lost is spread evenly."""
    heard = [len(second) - sum(_shared(second, gap) for gap in unheard) for second in _seconds(stream)]
    total, before = sum(heard), 0
    counts = []
    for frames in heard:
        after = before + frames
        counts.append(received * after // total - received * before // total if total else 0)
        before = after
    return counts


def _seconds(stream: StreamSpec) -> list[range]:
    """The frames that are due in each."""
    end_s = stream.start_s + stream.frames / stream.rate_fps
    return [during(stream, Outage(second, second + 1)) for second in range(math.ceil(end_s))]


def _shared(one: range, other: range) -> int:
    return max(0, min(one.stop, other.stop) - max(one.start, other.start))
