# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.model.json_schema import named, schema_text, simplified, without_null

NULL = {"type": "null"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
)


@given(st.dictionaries(st.text(min_size=1, max_size=20), JSON, max_size=5))
def test_the_text_of_a_schema_reads_back(schema: dict[str, Any]) -> None:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t"} | schema
    assert json.loads(schema_text("t", schema)) == whole


@pytest.mark.parametrize(("length", "lines"), [(83, 5), (84, 7)])
def test_what_fits_a_line_with_a_comma_is_not_broken(length: int, lines: int) -> None:
    # The indent, the names and what is around the text are 36 characters, and a comma is one more.
    text = schema_text("t", {"properties": {"a": {"const": "x" * length}}})
    assert max(map(len, text.splitlines())) < 120
    assert len(text.splitlines()) == lines


def test_lists_and_objects_are_broken_alike_and_empty_ones_never() -> None:
    long = "x" * 70
    assert schema_text("t", {"a": [long, {"b": long}], "c": []}) == (
        '{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n  "title": "t",\n'
        f'  "a": [\n    "{long}",\n    {{"b": "{long}"}}\n  ],\n  "c": []\n}}\n'
    )


def test_a_form_for_null_is_told_from_the_others() -> None:
    text = {"type": "string"}
    assert without_null({"anyOf": [text, NULL]}) == ([text], [NULL])
    assert without_null({"anyOf": [text, text]}) == ([{"anyOf": [text, text]}], [])
    assert without_null(text) == ([text], [])


def test_named_parts_are_defined_once_and_keep_what_is_said_of_a_field() -> None:
    rate = named("Rate", {"type": "number", "title": "Rate"})
    schema = {
        "title": "Whole",
        "properties": {
            "title": {"type": "string", "title": "Title"},
            "a": rate | {"description": "this one", "default": 5},
            "b": {"anyOf": [rate, NULL], "default": None},
            "c": {"oneOf": [{"$ref": "#/$defs/A"}, {"type": "array", "items": rate}], "default": {}},
        },
        "$defs": {"A": {"type": "object", "discriminator": {"propertyName": "kind"}}},
    }
    reference = {"$ref": "#/$defs/Rate"}
    assert simplified(schema) == {
        "properties": {
            "title": {"type": "string"},
            "a": reference | {"description": "this one", "default": 5},
            "b": {"anyOf": [reference, NULL]},
            "c": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "array", "items": reference}]},
        },
        "$defs": {"A": {"type": "object"}, "Rate": {"type": "number"}},
    }
