# SPDX-License-Identifier: Apache-2.0
"""The parts that all messages share: base class, sides, the log notification and error codes."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from natxy.plan.testbeds.ports import MOST_PAIRS

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"

    @property
    def opposite(self) -> Side:
        return Side.RIGHT if self is Side.LEFT else Side.LEFT

    @property
    def direction(self) -> str:
        """The direction of what this side sends: `forward` or `reverse`."""
        return "forward" if self is Side.LEFT else "reverse"


Pair = Annotated[int, Field(ge=0, lt=MOST_PAIRS)]
"""The pair of ports that a port, a neighbour or a stream belongs to, from 0 on."""


class StreamRole(StrEnum):
    """Says what a stream is for: `foreground` and `background` traffic (RFC 8219 §5.3), phase 1 of RFC 9693, its
    validation by one reply for each connection (RFC 9693 §4.6), or frames that a gateway has to drop. Streams of phase
    1 make connections, and only other streams of phase 1 are in the same trial. The loss of `spoofed` frames counts for
    nothing, and they are reported apart. The engine treats all other roles alike."""

    FOREGROUND = "foreground"
    BACKGROUND = "background"
    PHASE1 = "phase1"
    VALIDATION = "validation"
    SPOOFED = "spoofed"


class Log(Message):
    level: Literal["debug", "info", "warning", "error"]
    text: str


class ErrorCode:
    """The engine's JSON-RPC error codes, besides the standard ones."""

    BAD_STATE = -32001  # for example, replies requested before a phase 1
    PORT = -32002  # a port cannot be opened
    UNREACHABLE = -32003  # the DUT does not answer ARP or neighbour solicitations
    RESOURCE = -32004  # no memory, no such core
    WORKER_STUCK = -32005  # a worker does not stop; the engine ends
