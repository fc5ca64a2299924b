# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from natxy.untrusted.values import Facts, Moment, Real, Whole, from_text, utc


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Whole, ["0", str(2**64 - 1), str(-(2**63))], [str(2**64), "9" * 400, "1.5", '"x"', "null", "[]"]),
        (Real, ["0.1", "-1e18", "3"], ["1e19", "1e999", "NaN", "Infinity", "null"]),
        (Moment, ['"2026-03-01T02:00:00.000+00:00"'], ['"now"', '"2026-03-01"', '"0001-01-01T00:00:00+14:00"', "5"]),
        (
            Facts,
            ['{"a": [{"b": 1e40}], "c": null}'],
            ['{"a": [1e999]}', '{"a": {"b": NaN}}', "[]", "{" + '"a":{' * 300],
        ),
    ],
)
def test_values_are_read_or_refused(kind: Any, good: list[str], bad: list[str]) -> None:
    adapter = TypeAdapter[Any](kind)
    for text in good:
        adapter.validate_json(text)
    for text in bad:
        with pytest.raises(ValidationError):
            adapter.validate_json(text)


def test_a_moment_is_taken_to_utc() -> None:
    assert utc("2026-03-01T02:00:00.500+02:00") == datetime(2026, 3, 1, 0, 0, 0, 500_000, tzinfo=UTC)


def test_an_error_names_place_and_field_and_does_not_repeat_the_value() -> None:
    adapter = TypeAdapter(dict[str, Whole])
    with pytest.raises(ValueError, match=r"^trial 3\.x\.a: expected a whole number; .*; and 2 more$") as error:
        from_text(adapter, '{"a": "secret", "b": 1.5, "c": [], "d": {}, "e": "y"}', "trial 3.x")
    assert "secret" not in str(error.value)
