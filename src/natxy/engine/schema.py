# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schema of all messages between natxy and natxy-engine, docs/reference/rpc.schema.json."""

from __future__ import annotations

from pydantic.json_schema import models_json_schema

from natxy.engine import messages
from natxy.engine.messages.common import Log
from natxy.engine.messages.ports import (
    EngineClock,
    EngineInfo,
    NeighborsResolve,
    NeighborsResolved,
    PortsOpen,
    PortsOpened,
)
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, TrialResult
from natxy.plan.model.json_schema import schema_text, simplified

_MESSAGES = (
    EngineInfo,
    EngineClock,
    PortsOpen,
    PortsOpened,
    NeighborsResolve,
    NeighborsResolved,
    TrialRequest,
    TrialResult,
    Progress,
    Log,
)


def message_schema_text() -> str:
    """Returns the text of docs/reference/rpc.schema.json."""
    _, schema = models_json_schema([(message, "validation") for message in _MESSAGES], description=messages.__doc__)
    return schema_text("natxy-engine messages", simplified(schema))


if __name__ == "__main__":
    print(message_schema_text(), end="")
