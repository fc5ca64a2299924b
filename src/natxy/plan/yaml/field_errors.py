# SPDX-License-Identifier: Apache-2.0
"""Explains pydantic's errors to a plan's author: the field, what was expected, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic_core import ErrorDetails

from natxy.plan.model.problems import Location, Problem
from natxy.plan.yaml.schema import field_names, plan_schema
from natxy.untrusted.validation import MAPPINGS, expectation, got, guess

# More names of fields would not help.
_MOST_NAMED: Final = 12


def explained_all(errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Explains the errors, without those of lists that are too short only because some of their items are wrong."""
    items = {location[:-1] for error in errors for location in _prefixes(error["loc"]) if isinstance(location[-1], int)}
    return [explained(error) for error in errors if error["type"] != "too_short" or error["loc"] not in items]


def _prefixes(location: Location) -> Iterator[Location]:
    return (location[:length] for length in range(1, len(location) + 1))


def explained(details: ErrorDetails) -> Problem:
    """Explains one error."""
    location, given, message = details["loc"], details["input"], expectation(details)
    match details["type"]:
        case "extra_forbidden":
            message = unknown(str(location[-1]), field_names(plan_schema(), location[:-1]))
        case "missing" | "union_tag_not_found":
            pass
        case "enum" | "literal_error" | "union_tag_invalid" as kind:
            if kind == "union_tag_invalid":
                location = (*location, str(details["ctx"]["discriminator"]).strip("'"))
                given = details["ctx"]["tag"]
            message += got(given) + guess(given, re.findall("'([^']+)'", message))
        case "invalid_key":
            message = "unknown field; expected a word (a number has no commas: write 1_000)"
        case "value_error":
            location = _without_model(location)
        case kind if kind in MAPPINGS:
            message = f"expected {_mapping(location)}{got(given)}{_as_kind(location, given)}"
        case _:
            message += got(given)
    return Problem(location, message)


def _without_model(location: Location) -> Location:
    """Removes the last part if it is the name that selects a model of a union, and not a field or an item."""
    is_name = bool(location) and isinstance(location[-1], str)
    return location[:-1] if is_name and location[-1] not in field_names(plan_schema(), location[:-1]) else location


def unknown(name: str, known: Sequence[str]) -> str:
    """Returns the message for an unknown field, with the `known` field that was probably meant."""
    meant = guess(name, known)
    if meant and len(known) > _MOST_NAMED:
        return f"unknown field{meant}"
    return f"unknown field{meant or '.'} Expected one of {', '.join(sorted(known))}"


def _mapping(location: Location) -> str:
    fields = sorted(field_names(plan_schema(), location))
    return f"a mapping of {', '.join(fields)}" if 0 < len(fields) <= _MOST_NAMED else "a mapping of fields"


def _as_kind(location: Location, given: Any) -> str:
    """Returns the mapping to write, if a name was given for a mapping that is selected by its `kind`."""
    has_kind = isinstance(given, str) and "kind" in field_names(plan_schema(), location)
    return f"; write {{kind: {given}}}" if has_kind else ""
