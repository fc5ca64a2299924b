# SPDX-License-Identifier: Apache-2.0
"""Types of stored values that can be calculated with, for pydantic's models.

JSON and SQLite hold numbers without a limit, infinities, and any text where a time belongs.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from natxy.untrusted.validation import expectation, got

Whole = Annotated[int, Field(ge=-(2**63), lt=2**64), WithJsonSchema({"type": "integer"})]
"""A whole number of 64 bits, with or without a sign."""

Real = Annotated[float, Field(ge=-1e18, le=1e18), WithJsonSchema({"type": "number"})]
"""A number whose products and sums are finite, and which is not NaN."""

_LARGEST: Final = 1e40
_EARLIEST: Final = 1970
_MOST_SHOWN: Final = 3
_LONGEST: Final = 200


def utc(moment: str) -> datetime:
    """Returns a moment in UTC. Raises ValueError when it is no time in ISO 8601 with an offset, or before 1970."""
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        found = datetime.min
    # The offset of the calendar's last day may lead out of it.
    if found.tzinfo is None or not _EARLIEST <= found.year < datetime.max.year:
        raise ValueError("expected a time from 1970 on, with its offset, such as 2026-03-01T02:00:00.000+00:00")
    return found.astimezone(UTC)


def _moment(text: str) -> str:
    utc(text)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601 with its offset."""


def _calculable(value: Any) -> Any:
    match value:
        # NaN is not below anything.
        case int() | float() if not abs(value) <= _LARGEST:
            raise ValueError(f"expected numbers up to {_LARGEST:g}, got one beyond that")
        case list():
            for inner in value:
                _calculable(inner)
        case dict():
            for inner in value.values():
                _calculable(inner)
    return value


Facts = Annotated[dict[str, Any], AfterValidator(_calculable)]
"""A JSON object with any fields, whose numbers can be calculated with."""


def from_text(adapter: TypeAdapter[Any], text: Any, place: str) -> Any:
    """Returns what the JSON in a text describes. Raises ValueError, which begins with `place`, when it is not that."""
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise ValueError(problems(error, place)) from error


def problems(error: ValidationError, place: str) -> str:
    """Returns the fields that are wrong, and what was expected of them."""
    every = error.errors(include_url=False, include_input=False)
    shown = [f"{_where(place, each['loc'])}: {_expected(each)}" for each in every[:_MOST_SHOWN]]
    more = [f"and {len(every) - _MOST_SHOWN} more"] if len(every) > _MOST_SHOWN else []
    return "; ".join(shown + more)


def _expected(error: ErrorDetails) -> str:
    # Which model a value is of is a short text; other values may be long.
    tag = error.get("ctx", {}).get("tag")
    return expectation(error)[:_LONGEST] + ("" if tag is None else got(tag))


def _where(place: str, path: Iterable[int | str]) -> str:
    return ".".join(filter(None, (place, *map(str, path))))
