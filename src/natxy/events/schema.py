# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schema of a line of events, docs/reference/events.schema.json."""

from __future__ import annotations

from natxy.events.lines import events_schema
from natxy.plan.model.json_schema import schema_text, simplified


def events_schema_text() -> str:
    """Returns the text of docs/reference/events.schema.json."""
    return schema_text("natxy event", simplified(events_schema()))


if __name__ == "__main__":
    print(events_schema_text(), end="")
