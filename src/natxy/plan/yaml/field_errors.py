# SPDX-License-Identifier: Apache-2.0
"""Explains pydantic's errors to a plan's author: the field, what was expected, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from pydantic_core import ErrorDetails

from natxy.plan.frames.mix import NAMED_MIXES
from natxy.plan.model.problems import Location, Problem
from natxy.plan.yaml.schema import field_names, plan_schema, texts
from natxy.untrusted.validation import MAPPINGS, expectation, got, guess, nearest

# More names of fields would not help.
_MOST_NAMED: Final = 12
_ANY_ITEM: Final = 0
# Each of their kinds has fields of its own, so that a place elsewhere is likelier.
_OF_ONE_KIND: Final = frozenset({"gateway", "procedure"})
# What others call the same.
_OTHER_WORDS: Final = {
    "title": ("name", "description"),
    "imix": ("mix",), "genome": ("mix",),
    "size": ("frame_size",), "packet_size": ("frame_size",), "frame_sizes": ("frame_size",),
    "repetitions": ("repeat",), "runs": ("repeat",), "trials": ("repeat",),
    "duration": ("trial", "timing"), "test": ("procedure",), "type": ("kind", "procedure"),
    "dut": ("gateway",), "device": ("gateway",), "tests": ("experiments",), "thresholds": ("expect",),
    "loss": ("loss_tolerance",), "protocol": ("family",), "sessions": ("connections",),
}  # fmt: skip


def explained_all(errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Explains the errors, without those of lists that are too short only because some of their items are wrong."""
    items = {location[:-1] for error in errors for location in _prefixes(error["loc"]) if isinstance(location[-1], int)}
    of_words = [error for error in errors if _is_word(error)]
    others = [
        error
        for error in errors
        if error not in of_words and (error["type"] != "too_short" or error["loc"] not in items)
    ]
    return [*_as_commands(of_words), *map(explained, others)]


def _is_word(error: ErrorDetails) -> bool:
    """Returns True for a word in a list of lists, which only commands are."""
    return error["type"] == "list_type" and isinstance(error["loc"][-1], int) and isinstance(error["input"], str)


def _as_commands(errors: Sequence[ErrorDetails]) -> Iterator[Problem]:
    """Explains lists of words where lists of commands are expected, one problem for each."""
    words: dict[Location, list[str]] = {}
    for error in errors:
        words.setdefault(error["loc"][:-1], []).append(error["input"])
    for location, said in words.items():
        yield Problem(location, f"expected a list of commands, each a list of words: [[{', '.join(said)}]]")


def _prefixes(location: Location) -> Iterator[Location]:
    return accumulate((part,) for part in location)


def explained(details: ErrorDetails) -> Problem:
    """Explains one error."""
    location, given, message = details["loc"], details["input"], expectation(details)
    match details["type"]:
        case "extra_forbidden":
            message = unknown(location)
        case "missing" | "union_tag_not_found":
            pass
        case "enum" | "literal_error" | "union_tag_invalid" as kind:
            if kind == "union_tag_invalid":
                selector = str(details["ctx"]["discriminator"]).strip("'")
                location, given = (*location, selector), given[selector]
            message += got(given) + (guess(given, re.findall("'([^']+)'", message)) if isinstance(given, str) else "")
        case "int_parsing" if isinstance(given, str) and (known := texts(plan_schema(), location)):
            mix = f"; write `mix: {given}`" if given in NAMED_MIXES and location[-1] == "frame_size" else ""
            message += f" or {' or '.join(map(repr, known))}{got(given)}{mix or guess(given, known)}"
        case "invalid_key":
            message = "unknown field; expected a word (a number has no commas: write 1_000)"
        case "value_error":
            location = _without_model(location)
        case "too_short" | "too_long" if isinstance(given, (list, tuple)):
            message += f", got {len(given)}"
        case kind if kind in MAPPINGS:
            message = f"expected {_mapping(location)}{got(given)}{_as_kind(location, given)}"
        case _:
            message += got(given)
    return Problem(location, message)


def _without_model(location: Location) -> Location:
    """Removes the last part if it is the name that selects a model of a union, and not a field or an item."""
    is_name = bool(location) and isinstance(location[-1], str)
    return location[:-1] if is_name and location[-1] not in field_names(plan_schema(), location[:-1]) else location


def unknown(location: Location) -> str:
    """Returns the message for an unknown field, with the field or the place that was probably meant."""
    # What an error in every cell of a sweep means is found only once.
    return _unknown(tuple(_ANY_ITEM if isinstance(part, int) else part for part in location))


@lru_cache
def _unknown(location: Location) -> str:
    *within, last = location
    name, known = str(last), field_names(plan_schema(), tuple(within))
    if others := [repr(field) for field in _OTHER_WORDS.get(name, ()) if field in known]:
        return f"unknown field; did you mean {' or '.join(others)}?"
    if name in known:
        return "does not go with the other fields here; remove it, or the others"
    if place := _place(tuple(within), name, known):
        return f"unknown field; it belongs {place}"
    meant = guess(name, known)
    if meant and len(known) > _MOST_NAMED:
        return f"unknown field{meant}"
    return f"unknown field{meant or '.'} Expected one of {', '.join(sorted(known))}"


def _place(within: Location, name: str, known: Sequence[str]) -> str:
    """Returns where the field belongs if a mapping in this one has it, or one around this one; otherwise empty."""
    schema = plan_schema()
    inner = [field for field in known if name in field_names(schema, (*within, field))]
    places = [f"in `{field}`" for field in inner if field not in _OF_ONE_KIND]
    places += ["in an experiment"] * ("defaults" in inner)
    for length in reversed(range(len(within))):
        around = field_names(schema, within[:length])
        if name in around and within[length] in around:
            places.append(f"beside `{within[length]}`" if length else "at the top of the plan")
    return " or ".join(places or (f"in `{field}`" for field in inner))


def _mapping(location: Location) -> str:
    fields = sorted(field_names(plan_schema(), location))
    return f"a mapping of {', '.join(fields)}" if 0 < len(fields) <= _MOST_NAMED else "a mapping of fields"


def _as_kind(location: Location, given: Any) -> str:
    """Returns the mapping to write, if a name was given for a mapping that is selected by its `kind`."""
    near = nearest(given, texts(plan_schema(), (*location, "kind"))) if isinstance(given, str) else None
    return f"; write {{kind: {near}}}" if near else ""
