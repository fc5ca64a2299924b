# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core._pydantic_core import list_all_errors

from natxy.untrusted.validation import expectation, got, guess, guess_path


class Aspect(StrEnum):
    CONNECTIONS = "connections"


# Words about Python's types and pydantic's methods, which a user of natxy does not know.
FOREIGN = re.compile(r"\bInput\b|\bshould\b|Value error|Assertion failed|Field required|Extra inputs")


def said(kind: Any, value: object) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return expectation(caught.value.errors()[0])


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Annotated[int, Field(ge=1)], 0, "expected at least 1"),
        (Annotated[float, Field(lt=0.5)], 1, "expected less than 0.5"),
        (Annotated[int, Field(le=10**7)], 10**8, "expected at most 10000000"),
        (Annotated[int, Field(lt=2**64)], 2**64, "expected less than 18446744073709551616"),
        (int, "x", "expected a whole number"),
        (Path, 5, "expected the path of a file"),
        (bool, "x", "expected true or false"),
        (Literal["a", "b"], "c", "expected 'a' or 'b'"),
        (list[int], 5, "expected a list"),
        (tuple[int, ...], 5, "expected a list"),
        (dict[str, int], 5, "expected a mapping of fields"),
        (Annotated[str, Field(max_length=2)], "abc", "expected text of length 2 or less"),
        (date, "x", "expected a valid date or datetime, input is too short"),
    ],
)
def test_what_was_expected_is_in_words_of_natxy(kind: Any, value: object, words: str) -> None:
    assert said(kind, value) == words


def test_no_words_of_pydantic_are_left() -> None:
    leaked = []
    for each in list_all_errors():
        context = {"expected_tags": "", "error": "", **(each.get("example_context") or {})}
        details = ErrorDetails(type=each["type"], loc=(), msg=each["example_message_python"], input=5, ctx=context)
        if FOREIGN.search(text := expectation(details)):
            leaked.append(text)
    assert leaked == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, ", got nothing"),
        ({}, ", got a mapping"),
        ([], ", got an empty list"),
        ([1], ", got a list"),
        (date(2020, 1, 2), ", got the date 2020-01-02; put it in quotes"),
        ("x" * 200, f", got {'x' * 100!r}…"),
        (5, ", got 5"),
    ],
)
def test_what_was_given_is_quoted(given: object, words: str) -> None:
    assert got(given) == words


def test_only_a_near_name_is_suggested() -> None:
    assert guess("gateway", ["gateways", "plans"]) == "; did you mean 'gateways'?"
    assert guess("foo", ["gateways", "plans"]) == ""
    assert guess("conections", [Aspect.CONNECTIONS]) == "; did you mean 'connections'?"


def test_the_nearest_file_of_the_same_kind_is_suggested(tmp_path: Path) -> None:
    for name in ("quickstart.yaml", "quickstar.txt"):
        (tmp_path / name).touch()
    assert guess_path(tmp_path / "quikstart.yaml") == f"; did you mean '{tmp_path}/quickstart.yaml'?"
    assert guess_path(tmp_path / "other.yaml") == ""
    assert guess_path(tmp_path / "missing" / "quickstart.yaml") == ""
