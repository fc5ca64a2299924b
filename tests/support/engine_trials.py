# SPDX-License-Identifier: Apache-2.0
"""Makes requests for trials between the two ports of an engine that are joined to each other."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamKind,
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


def phase1_of(*initiators: StreamSpec, **fields: Any) -> TrialRequest:
    """Requests phase 1 of the streams, each of a pair of its own; `fields` are those of the request."""
    streams = [stream.model_copy(update={"role": StreamRole.PHASE1}) for stream in initiators]
    return TrialRequest(streams=streams, **{"seed": 1} | fields)


def validation_of(*initiators: StreamSpec, rate_fps: float, **fields: Any) -> TrialRequest:
    """Requests the validation of the connections that the streams made, each pair at `rate_fps`."""
    streams = [
        StreamSpec(
            name=f"validation {stream.pair + 1}" if stream.pair else "validation",
            source=stream.source.opposite,
            pair=stream.pair,
            role=StreamRole.VALIDATION,
            kind=StreamKind.REPLIES,
            frame=stream.frame,
            rate_fps=rate_fps,
            frames=stream.frames,
        )
        for stream in initiators
    ]
    return TrialRequest(streams=streams, **{"seed": 1} | fields)


def first_progress(act: Callable[[], object]) -> Callable[[Progress], None]:
    """Returns a listener that acts once, when the engine tells of a trial under way."""
    acts = iter([act])

    def listen(_: Progress) -> None:
        for each in acts:
            each()

    return listen
