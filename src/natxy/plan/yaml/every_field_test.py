# SPDX-License-Identifier: Apache-2.0
"""Tests that every field of every model, whatever its value, is accepted or explained in natxy's words."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.errors import PlanFileError
from natxy.plan.model.problems import Problem
from natxy.plan.yaml.loading import plan_of
from natxy.plan.yaml.sweep import Cell
from natxy.plan.yaml.validating import validated
from tests.support.checked import REFUSED, checked, explain
from tests.support.plan_fields import VALUES, PlanField, plan_fields

FIELDS: Final = plan_fields()
# What the values themselves name is among them.
NAMES: Final = {field.name for field in FIELDS} | {"x"}
# Every value meets every model; each field meets this share of them, and other fields of its kind the others.
EACH: Final = 5
WHOLE: Final = 150
IN_THE_PROGRAM: Final = 6
# pydantic's names of validators and errors, and Python's of values and types.
FOREIGN: Final = re.compile(
    r"lax-or-strict|function-|union|tagged-|validation err|pydantic|Input|should|instance|_type\b|<class|datetime\."
    r"|\bNone\b|\bTrue\b|\bFalse\b|NoneType|\d[eE]\+|does not appear|host bits|OrList"
)
LONGEST: Final = 700


def problems_of(plan: dict[str, Any]) -> list[Problem]:
    top = {name: value for name, value in plan.items() if name != "experiments"}
    cells = [Cell(number, fields) for number, fields in enumerate(plan["experiments"])]
    return [*validated(top, cells, Path()).problems]


def not_explained(message: str) -> str:
    """Returns what a stranger could not understand about an error."""
    # A number is quoted as Python writes it.
    if found := FOREIGN.search(re.sub(r"got -?\d.*", "", message)):
        return f"{found[0]!r} is no word of natxy's: {message}"
    return f"too long: {message}" if len(message) > LONGEST else ""


def test_every_field_with_any_value_is_valid_or_explained() -> None:
    wrong, count = [], 0
    for number, field in enumerate(FIELDS):
        for value in [VALUES[(number + EACH * step) % len(VALUES)] for step in range(len(VALUES) // EACH)]:
            count += 1
            plan = field.plan(value)
            if not isinstance(plan["experiments"], list):
                continue
            wrong += [f"{plan}: {text}" for each in problems_of(plan) if (text := not_explained(each.message))]
    assert wrong == []
    assert count > 3_000


def drawn(count: int, seed: int) -> list[tuple[PlanField, Any]]:
    chance = random.Random(seed)
    return [(chance.choice(FIELDS), chance.choice(VALUES)) for _ in range(count)]


def test_a_whole_plan_is_loaded_or_its_error_names_file_line_and_field() -> None:
    refused = 0
    for field, value in drawn(WHOLE, seed=6052):
        plan = field.plan(value)
        try:
            plan_of(written(plan), Path("plan.yaml"))
        except PlanFileError as error:
            refused += 1
            first, *lines = str(error).splitlines()
            assert first == "the plan plan.yaml has errors:"
            for line in lines[:-1] if lines[-1].startswith("Fix these first") else lines:
                place = re.match(r"plan\.yaml:\d+:\d+: ([a-z_0-9.\[\]]+): ", line)
                assert place, f"{plan}: {line}"
                assert {*re.findall(r"[a-z_]\w*", place[1])} <= NAMES, f"{plan}: {line}"
                assert not not_explained(line), f"{plan}: {line}"
    assert refused > WHOLE / 2


def test_the_program_ends_with_the_exit_code_of_a_wrong_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for field, value in drawn(IN_THE_PROGRAM, seed=3):
        found = checked(written(field.plan(value)).encode(), tmp_path)
        assert not explain(found), (field, value)
        if found.code == REFUSED:
            assert "plan.yaml:" in found.error


def written(value: Any) -> str:
    """Returns a value in YAML."""
    match value:
        case dict():
            return "{" + ", ".join(f"{written(key)}: {written(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(written, value)) + "]"
        case str():
            return f'"{value}"'
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return {"nan": ".nan", "inf": ".inf"}.get(str(value), str(value))
    return str(value)
