# SPDX-License-Identifier: Apache-2.0
"""The base class of all messages, the names of the two sides, the log notification and the error codes."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

from pydantic import BaseModel, ConfigDict

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


class Log(Message):
    level: Literal["debug", "info", "warning", "error"]
    text: str


class ErrorCode:
    """JSON-RPC error codes of the engine besides the standard ones."""

    BAD_STATE = -32001  # e.g. replies asked for before a phase 1
    PORT = -32002  # a port cannot be opened
    UNREACHABLE = -32003  # the DUT does not answer ARP or neighbour solicitations
    RESOURCE = -32004  # no memory, no such core
    WORKER_STUCK = -32005  # a worker does not come back; the engine ends
