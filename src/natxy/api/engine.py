# SPDX-License-Identifier: Apache-2.0
"""Offers the engine to programs that run trials one by one: its client, the messages, the ports and the cores.

The fields of the messages are those of docs/reference/rpc.schema.json.
"""

from natxy.engine.client import EngineClient
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortMedium, PortsOpen, PortSpec
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
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.engine.program import find_engine
from natxy.locks.files import Holder, exclusive
from natxy.plan.frames.sizes import mtu_for
from natxy.plan.testbeds.cores import CoreAssignment, assign_cores

__all__ = [
    "AddressField",
    "CoreAssignment",
    "EngineClient",
    "FlowSpace",
    "FrameFormat",
    "Holder",
    "NeighborSide",
    "NeighborsResolve",
    "PortField",
    "PortMedium",
    "PortSpec",
    "PortsOpen",
    "Side",
    "StreamKind",
    "StreamResult",
    "StreamRole",
    "StreamSpec",
    "TaggedFrames",
    "TrialLimits",
    "TrialRequest",
    "TrialResult",
    "Verdict",
    "assign_cores",
    "exclusive",
    "find_engine",
    "mtu_for",
    "ring_slots",
]
