# SPDX-License-Identifier: Apache-2.0
"""Makes the requests of a soak: every kind of trial, between two ports that are joined to each other."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, Final

from natxy.engine.interface import Engine
from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamKind,
    StreamSpec,
    TaggedFrames,
    TrialLimits,
    TrialRequest,
)
from natxy.engine.messages.results import TrialResult
from natxy.plan.frames.sizes import SMALLEST_FRAME
from natxy.plan.model.terms import Family, Selection

# So low that the ports' queues last while other programs take the core.
RATE_FPS: Final = 5_000.0
FRAMES: Final = 500
# As a search for the capacity does: each table is larger than the one before, the next cycle's is small again.
CAPACITIES: Final = (250, 1_000, 2_000)
TAGGED: Final = TaggedFrames(first=FRAMES // 2, stride=10, count=FRAMES // 20)

_ADDRESSES: Final = {
    Family.IPV4: {Side.LEFT: ip_address("198.18.0.2"), Side.RIGHT: ip_address("198.18.0.3")},
    Family.IPV6: {Side.LEFT: ip_address("2001:2::2"), Side.RIGHT: ip_address("2001:2::3")},
}
# A soak asks whether the engine stays as it is, on a machine that may be busy, not how exactly it keeps its times.
_AT_LEISURE: Final[dict[str, Any]] = {
    "drain_s": 1.0,
    "drain_ends_early": True,
    "limits": TrialLimits(max_overrun_ratio=1, overrun_floor_s=1, max_pause_s=10),
}


def neighbors() -> NeighborsResolve:
    """Requests that each port resolves the other one, which waits until the link is up."""
    return NeighborsResolve(
        neighbors=[
            NeighborSide(side=side, address=address[side], gateway=address[side.opposite])
            for address in _ADDRESSES.values()
            for side in Side
        ]
    )


def trials(engine: Engine, family: Family, seed: int) -> Iterator[TrialResult]:
    """Runs one trial of each kind, and yields the results. What needs a complete phase 1 is left out without one."""
    both_ways = [_stream(family, side) for side in Side]
    yield engine.run_trial(TrialRequest(streams=both_ways, seed=seed, **_AT_LEISURE))
    measured = [_stream(family, side, tagged=TAGGED, ipdv=True) for side in Side]
    yield engine.run_trial(TrialRequest(streams=measured, seed=seed, delay_histogram=True, **_AT_LEISURE))
    for connections in CAPACITIES:
        yield from _stateful(engine, family, connections, seed)


def _stateful(engine: Engine, family: Family, connections: int, seed: int) -> Iterator[TrialResult]:
    """Runs phase 1 with an empty state table, its validation, and phase 2."""
    made = {"frames": connections, "selection": Selection.ENUMERATE, "role": StreamRole.PHASE1}
    initiator = _stream(family, Side.LEFT, **made)
    established = engine.run_trial(TrialRequest(streams=[initiator], seed=seed, **_AT_LEISURE))
    yield established
    if established.established != connections:
        return
    each = {"frames": connections, "kind": StreamKind.REPLIES, "flows": None, "role": StreamRole.VALIDATION}
    replies = _stream(family, Side.RIGHT, **each)
    yield engine.run_trial(TrialRequest(streams=[replies], seed=seed, **_AT_LEISURE))
    kinds = {Side.LEFT: StreamKind.CONNECTIONS, Side.RIGHT: StreamKind.REPLIES}
    streams = [_stream(family, side, kind=kind, flows=None) for side, kind in kinds.items()]
    yield engine.run_trial(TrialRequest(streams=streams, seed=seed, **_AT_LEISURE))


def _stream(family: Family, side: Side, **fields: Any) -> StreamSpec:
    address = _ADDRESSES[family]
    flows = FlowSpace(
        source_address=AddressField(address=address[side]),
        destination_address=AddressField(address=address[side.opposite]),
        source_port=PortField(min=1024, max=65535),
        destination_port=PortField(min=1, max=49151),
    )
    usual = {"rate_fps": RATE_FPS, "frames": FRAMES, "flows": flows}
    return StreamSpec(name=side, source=side, frame=FrameFormat(size=SMALLEST_FRAME[family]), **{**usual, **fields})
