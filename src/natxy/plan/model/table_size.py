# SPDX-License-Identifier: Apache-2.0
"""Sizes of a gateway's tables: a count, or `{per_connection: 1.1}` for a multiple of the connections."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Final

from pydantic import BeforeValidator, TypeAdapter, ValidationError, WithJsonSchema

from natxy.plan.model.json_schema import named
from natxy.plan.model.units import COUNT_SCHEMA, is_number, parse_count
from natxy.untrusted.validation import got

# The kernel counts entries and buckets in 31 bits.
_MOST: Final = 2**31 - 1
_MOST_SHARE: Final = 1_000_000
# Reads what a model's field of this type reads, such as 3, "3" and 3.0.
_WHOLE: Final = TypeAdapter(int)


def _parse(given: object) -> int:
    if not isinstance(given, Mapping):
        if (size := parse_count(given)) > _MOST:
            raise ValueError(f"expected at most {_MOST}{got(given)}")
        return size
    if _per_connection(given) is None:
        raise ValueError(
            f"expected a count, or {{per_connection: 1.1}} with a number above 0 and up to {_MOST_SHARE:,}"
        )
    raise ValueError("per_connection needs the experiment's `connections`; give them, or a count here")


_PER_CONNECTION: Final = {
    "type": "object",
    "properties": {"per_connection": {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST_SHARE}},
    "required": ["per_connection"],
    "additionalProperties": False,
}
TableSize = Annotated[
    int,
    BeforeValidator(_parse),
    WithJsonSchema(named("TableSize", {"anyOf": [COUNT_SCHEMA, _PER_CONNECTION]})),
]
"""A number of entries. `sized` replaces every `per_connection` that has connections before a model reads the plan."""


def sized(experiment: object) -> object:
    """Replaces every `per_connection` in the gateway of an experiment as written by the count that it means."""
    if not isinstance(experiment, Mapping) or not isinstance(gateway := experiment.get("gateway"), Mapping):
        return experiment
    try:
        connections = parse_count(experiment.get("connections"))
    except ValueError:
        return experiment
    # Each pair of interfaces has so many. The model that reads the plan reports a value that is no number.
    with suppress(ValidationError):
        connections *= _WHOLE.validate_python(experiment.get("pairs", 1))
    # Rounded, because 1.1 · 100,000 is a little more than 110,000 in floating point.
    sizes = {
        field: math.ceil(round(share * connections, 6))
        for field, given in gateway.items()
        if (share := _per_connection(given)) is not None
    }
    return {**experiment, "gateway": {**gateway, **sizes}}


def _per_connection(given: object) -> float | None:
    """Returns the number in `{per_connection: 1.1}`, or None for anything else."""
    match given:
        case {"per_connection": share, **others} if not others and is_number(share) and 0 < share <= _MOST_SHARE:
            return share
    return None
