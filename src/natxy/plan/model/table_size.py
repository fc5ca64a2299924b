# SPDX-License-Identifier: Apache-2.0
"""Sizes of a gateway's tables, which may follow the connections: `{per_connection: 1.1}` in a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from natxy.plan.model.json_schema import named
from natxy.plan.model.units import COUNT_SCHEMA, parse_count

# The kernel's own counts of entries and buckets end there.
_MOST: Final = 2**31 - 1


def _parse(given: object) -> int:
    if not isinstance(given, Mapping):
        if (size := parse_count(given)) > _MOST:
            raise ValueError(f"expected at most {_MOST}, got {given}")
        return size
    if [*given] != ["per_connection"] or not _is_positive(given["per_connection"]):
        raise ValueError("expected a count, or {per_connection: 1.1} with a number above 0")
    raise ValueError("it follows `connections`, and there are none; give these, or a count here")


_PER_CONNECTION: Final = {
    "type": "object",
    "properties": {"per_connection": {"type": "number", "exclusiveMinimum": 0}},
    "required": ["per_connection"],
    "additionalProperties": False,
}
TableSize = Annotated[
    int,
    BeforeValidator(_parse),
    WithJsonSchema(named("TableSize", {"anyOf": [COUNT_SCHEMA, _PER_CONNECTION]})),
]
"""Entries. Plans are loaded with `sized`, which leaves no `per_connection` that makes sense."""


def sized(experiment: object) -> object:
    """An experiment as written, with its gateway's tables as large as its connections ask."""
    if not isinstance(experiment, Mapping) or not isinstance(gateway := experiment.get("gateway"), Mapping):
        return experiment
    try:
        connections = parse_count(experiment.get("connections"))
    except ValueError:
        return experiment
    return {**experiment, "gateway": {field: _size(given, connections) for field, given in gateway.items()}}


def _size(given: Any, connections: int) -> Any:
    match given:
        case {"per_connection": share, **others} if not others and _is_positive(share):
            # A product such as 1.1 · 100,000 is a little more than it should be.
            return math.ceil(round(share * connections, 6))
    return given


def _is_positive(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given > 0
