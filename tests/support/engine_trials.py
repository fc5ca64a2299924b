# SPDX-License-Identifier: Apache-2.0
"""Makes requests for trials between the two ports of an engine that are joined to each other."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Final

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamSpec,
    TrialLimits,
    TrialRequest,
)
from natxy.engine.messages.results import Progress

RATE_FPS: Final = 10_000
ADDRESSES: Final = {Side.LEFT: ip_address("198.18.0.2"), Side.RIGHT: ip_address("198.19.0.2")}
# The machine that runs the tests may be busy.
_LENIENT: Final = TrialLimits(max_overrun_ratio=1, overrun_floor_s=1, max_pause_s=10)


def stream_from(source: Side, traffic_s: float, *, rate_fps: int = RATE_FPS, size: int = 64) -> StreamSpec:
    flows = FlowSpace(
        source_address=AddressField(address=ADDRESSES[source]),
        destination_address=AddressField(address=ADDRESSES[source.opposite]),
        source_port=PortField(min=1024, max=65535),
        destination_port=PortField(min=1, max=49151),
    )
    return StreamSpec(
        name=source,
        source=source,
        frame=FrameFormat(size=size),
        rate_fps=rate_fps,
        frames=round(rate_fps * traffic_s),
        flows=flows,
    )


def trial(*streams: StreamSpec) -> TrialRequest:
    return TrialRequest(streams=[*streams], seed=1, drain_s=2, drain_ends_early=True, limits=_LENIENT)


def first_progress(act: Callable[[], object]) -> Callable[[Progress], None]:
    """Returns a listener that acts once, when the engine tells of a trial under way."""
    acts = iter([act])

    def listen(_: Progress) -> None:
        for each in acts:
            each()

    return listen
