# SPDX-License-Identifier: Apache-2.0
"""Explains pydantic's errors to a plan's author: the field, what was expected, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any, Final

from pydantic_core import ErrorDetails

from natxy.plan.model.problems import Location, Problem
from natxy.plan.yaml.schema import field_names, plan_schema

# The expected values, by pydantic's type of the error.
_EXPECTED: Final = {
    "list_type": "a list", "string_type": "text",
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number",
    "bool_type": "true or false", "bool_parsing": "true or false",
    "greater_than_equal": "at least {ge:g}", "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le:g}", "less_than": "less than {lt:g}",
    "multiple_of": "a multiple of {multiple_of}", "too_short": "a list of at least {min_length}",
}  # fmt: skip
_LONGEST_QUOTED: Final = 100
# More names of fields would not help.
_MOST_NAMED: Final = 12
_MAPPINGS: Final = {"model_type", "model_attributes_type", "dict_type"}


def explained_all(errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Explains the errors, without those of lists that are too short only because some of their items are wrong."""
    items = {location[:-1] for error in errors for location in _prefixes(error["loc"]) if isinstance(location[-1], int)}
    return [explained(error) for error in errors if error["type"] != "too_short" or error["loc"] not in items]


def _prefixes(location: Location) -> Iterator[Location]:
    return (location[:length] for length in range(1, len(location) + 1))


def explained(details: ErrorDetails) -> Problem:
    """Explains one error."""
    location, given = details["loc"], details["input"]
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            message = unknown(str(location[-1]), field_names(plan_schema(), location[:-1]))
        case "missing":
            message = "missing"
        case "enum" | "literal_error" | "union_tag_invalid":
            expected = str(context.get("expected") or context.get("expected_tags"))
            if details["type"] == "union_tag_invalid":
                location = (*location, str(context["discriminator"]).strip("'"))
                given = context["tag"]
            guess = _guess(str(given), re.findall("'([^']+)'", expected))
            message = f"expected {expected}, got {_quoted(given)}{guess}"
        case "union_tag_not_found":
            message = f"missing {context['discriminator']}"
        case "invalid_key":
            message = "unknown field; expected a word (a number has no commas: write 1_000)"
        case "value_error":
            message = str(context["error"])
            location = _without_model(location)
        case kind if kind in _MAPPINGS:
            message = f"expected {_mapping(location)}{_got(given)}{_as_kind(location, given)}"
        case kind if kind in _EXPECTED:
            message = f"expected {_EXPECTED[kind].format_map(context)}{_got(given)}"
        case _:
            text = details["msg"].removeprefix("Value error, ").replace("Input should be", "expected", 1)
            message = text[0].lower() + text[1:] + _got(given)
    return Problem(location, message)


def _without_model(location: Location) -> Location:
    """Removes the last part if it is the name that selects a model of a union, and not a field or an item."""
    is_name = bool(location) and isinstance(location[-1], str)
    return location[:-1] if is_name and location[-1] not in field_names(plan_schema(), location[:-1]) else location


def unknown(name: str, known: Sequence[str]) -> str:
    """Returns the message for an unknown field, with the `known` field that was probably meant."""
    guess = _guess(name, known)
    if guess and len(known) > _MOST_NAMED:
        return f"unknown field{guess}"
    return f"unknown field{guess or '.'} Expected one of {', '.join(sorted(known))}"


def _mapping(location: Location) -> str:
    fields = sorted(field_names(plan_schema(), location))
    return f"a mapping of {', '.join(fields)}" if 0 < len(fields) <= _MOST_NAMED else "a mapping of fields"


def _as_kind(location: Location, given: Any) -> str:
    """Returns the mapping to write, if a name was given for a mapping that is selected by its `kind`."""
    has_kind = isinstance(given, str) and "kind" in field_names(plan_schema(), location)
    return f"; write {{kind: {given}}}" if has_kind else ""


def _got(given: Any) -> str:
    match given:
        case None:
            return ", got nothing"
        case date():
            return f", got the date {given}; put it in quotes"
        case Mapping():
            return ", got a mapping"
        case []:
            return ", got an empty list"
        case list():
            return ", got a list"
    return f", got {_quoted(given)}"


def _quoted(given: Any) -> str:
    """Returns a value as an error quotes it, without the end of a long text."""
    if isinstance(given, str) and len(given) > _LONGEST_QUOTED:
        return f"{given[:_LONGEST_QUOTED]!r}…"
    return repr(given)


def _guess(given: str, known: Sequence[str]) -> str:
    close = get_close_matches(given, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
