# SPDX-License-Identifier: Apache-2.0
"""Attacks the loading of plans: whatever the text, it gives a plan or a PlanError."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError
from natxy.plan.written import ExperimentPlan, Plan
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.parsing import DEEPEST, LONGEST_NUMBER, parse
from tests.support.nasty_plans import EXPERIMENT, TENFOLD, VALUES, with_fields


def load(text: str) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "plan.yaml"
        file.write_text(text)
        load_plan(file)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("connections", "9" * 400, "a number of more than 40 digits; no setting is that long"),
        ("ports", f"{{source: '{'9' * 5000}-{'9' * 5000}'}}", "a number of more than 40 digits"),
        ("ttl", "!!int x", "no whole number, although it looks like one"),
        ("title", "2026-02-31", "no date, although it looks like one; put it in quotes"),
        ("connections", "!!python/object:os.system [x]", "the tag python/object:os.system has no meaning in a plan"),
        ("title", '"\\ud800"', "half of a character"),
        ("frame_size", "[{a: 1}, 64]", "expected a whole number, got a mapping"),
        ("search", "{max_rate: 1e-320}", "expected a rate from 0.001 to 1000G"),
        ("timing", "{trial: 1e-320}", "0 or from 1 ns to 30 days"),
    ],
)
def test_a_value_that_no_plan_has_is_named_with_its_place(field: str, value: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        load(with_fields(**{field: value}))
    assert "plan.yaml:4:" in str(caught.value)
    assert expected in str(caught.value)


def test_aliases_that_multiply_are_refused() -> None:
    with pytest.raises(PlanError, match="its aliases make more than 1,000,000 values"):
        load(f"{TENFOLD}\nname: *h\nexperiments: *h\n")


def test_aliases_that_nest_are_refused() -> None:
    chain = "\n".join(f"a{number}: &a{number} [*a{number - 1}]" for number in range(1, 2000))
    with pytest.raises(PlanError, match="its aliases nest more than 50 levels deep"):
        load(f"a0: &a0 x\n{chain}\nname: *a1999\n")


@pytest.mark.parametrize("loop", ["{<<: *x}", "[*x]", "{a: *x}", "{*x : a}", "{a: [{b: *x}]}"])
def test_an_alias_inside_its_own_anchor_is_refused(loop: str) -> None:
    with pytest.raises(PlanError, match="an alias inside its own anchor; write it without"):
        load(f"name: p\ndefaults: &x {loop}\n")


@pytest.mark.parametrize("nested", ["[" * 3000, "- " * 3000, "{a: " * 3000, "? " * 3000])
def test_deep_nesting_is_refused_at_once(nested: str) -> None:
    with pytest.raises(PlanError, match="nested more than 50 levels deep; write it flatter"):
        load(f"name: p\nexperiments:\n  {nested}")


FIELDS: Final = st.dictionaries(st.sampled_from([*ExperimentPlan.model_fields]), st.sampled_from(VALUES), max_size=3)
HEADS: Final = st.dictionaries(st.sampled_from([*Plan.model_fields, "defaults"]), st.sampled_from(VALUES), max_size=2)


@settings(max_examples=1000, deadline=None)
@given(head=HEADS, fields=FIELDS)
def test_any_value_in_any_field_is_taken_or_explained(head: dict[str, str], fields: dict[str, str]) -> None:
    experiment = ", ".join(f"{name}: {text}" for name, text in (EXPERIMENT | fields).items())
    whole = {"name": "p", "testbed": "{kind: simulated}", "experiments": f"[{{{experiment}}}]"} | head
    text = "\n".join([TENFOLD.splitlines()[0], *(f"{name}: {value}" for name, value in whole.items())])
    with suppress(PlanError):
        load(text)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        (nested(DEEPEST), nested(DEEPEST + 1)),
        ("[" + nested(DEEPEST - 2) + ", [x]]", "[x, " + nested(DEEPEST) + "]"),
        (f"[&a {nested(30)}, {'[' * 19}*a{']' * 19}]", f"[&a {nested(30)}, {'[' * 20}*a{']' * 20}]"),
        ("9" * LONGEST_NUMBER, "9" * (LONGEST_NUMBER + 1)),
        ("0." + "9" * (LONGEST_NUMBER - 2), "0." + "9" * (LONGEST_NUMBER - 1)),
        ("x" * (LONGEST_NUMBER + 1), f"x{'9' * (LONGEST_NUMBER + 1)}"),
        ("x\ud7ff\ue000", '"\\ud800"'),
        ("x", '"\\udfff"'),
    ],
)
def test_the_last_document_that_is_read_and_the_first_that_is_not(accepted: str, refused: str) -> None:
    parse(accepted)
    with pytest.raises(YAMLError):
        parse(refused)


def test_aliases_may_make_a_million_values() -> None:
    thousand = ", ".join(["x"] * 999)

    def with_aliases(count: int) -> str:
        return f"[&a [{thousand}], [{', '.join(['*a'] * count)}]]"

    assert len(parse(with_aliases(990))[1]) == 990
    with pytest.raises(YAMLError, match="its aliases make more than 1,000,000 values"):
        parse(with_aliases(1000))


def test_an_anchor_that_is_given_anew_needs_no_warning() -> None:
    assert parse("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}
