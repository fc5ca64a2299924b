# SPDX-License-Identifier: Apache-2.0
"""Puts pydantic's errors into natxy's words: what was expected, what was given, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic_core import ErrorDetails

MAPPINGS: Final = frozenset({"model_type", "model_attributes_type", "dict_type", "mapping_type", "dataclass_type"})
"""Pydantic's types of the errors where a mapping was expected."""

# The expected values, by pydantic's type of the error.
_EXPECTED: Final = {
    **dict.fromkeys(MAPPINGS, "a mapping of fields"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("string_type", "string_unicode", "string_sub_type"), "text"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "none_required": "nothing", "path_type": "the path of a file",
    "int_parsing_size": "a whole number of fewer digits",
    "greater_than_equal": "at least {ge}", "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}", "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "too_short": "a list of at least {min_length}", "too_long": "a list of at most {max_length}",
    "string_too_short": "text of length {min_length} or more", "string_too_long": "text of length {max_length} or less",
    "enum": "{expected}", "literal_error": "{expected}", "union_tag_invalid": "{expected_tags}",
}  # fmt: skip
# Pydantic's words for all other types: `Input should be a valid date`, `Input is not a valid IPv4 address`.
_SHOULD: Final = re.compile(r"\w+( \w+)? (should( be| have)?|is not) ")
_LONGEST_QUOTED: Final = 100


def expectation(error: ErrorDetails) -> str:
    """Returns what one error expected, such as `expected at least 1`. What was given is only in a validator's text."""
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "missing"
        case "extra_forbidden":
            return "unknown field"
        case "union_tag_not_found":
            return f"missing {context['discriminator']}"
        case "value_error" | "assertion_error":
            return str(context["error"])
        # Only errors in files that people write have the input.
        case "string_type" if isinstance(error.get("input"), (int, float)):
            return "expected text in quotes"
        # A text whose pattern is natxy's own counts as any value with a length.
        case "too_short" | "too_long" as kind if isinstance(error.get("input"), str):
            return f"expected {_EXPECTED[f'string_{kind}'].format_map(context)}"
        case kind if kind in _EXPECTED:
            plain = {name: f"{value:.15g}" if isinstance(value, float) else value for name, value in context.items()}
            return f"expected {_EXPECTED[kind].format_map(plain)}"
    text = _SHOULD.sub("expected ", error["msg"], count=1)
    return text[0].lower() + text[1:]


def got(given: Any) -> str:
    """Returns the end of an error that quotes what was given, `, got 'x'`."""
    match given:
        case None:
            return ", got nothing"
        case date():
            return f", got the date {given}; put it in quotes"
        case bool():
            return f", got {str(given).lower()}"
        case Mapping():
            return ", got a mapping"
        case []:
            return ", got an empty list"
        case list():
            return ", got a list"
        case str() if len(given) > _LONGEST_QUOTED:
            return f", got {given[:_LONGEST_QUOTED]!r}…"
    return f", got {given!r}"


def guess(given: object, known: Iterable[str]) -> str:
    """Returns the end of an error that suggests the `known` name nearest to the given one; empty if none is near."""
    near = nearest(given, known)
    return f"; did you mean {near!r}?" if near else ""


def nearest(given: object, known: Iterable[str]) -> str | None:
    """Returns the `known` name nearest to the given one, or None if none is near."""
    close = get_close_matches(str(given), [*map(str, known)], n=1)
    return close[0] if close else None


def guess_path(missing: Path) -> str:
    """Returns the end of an error that suggests the path in the same folder with the nearest name, as `guess` does."""
    try:
        near = nearest(missing.name, [each.name for each in missing.parent.iterdir() if each.suffix == missing.suffix])
    except OSError:
        return ""
    return f"; did you mean {str(missing.parent / near)!r}?" if near else ""
