# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import random

import pytest

from tools.mutants.baseline import REPOSITORY
from tools.mutants.mutations import mutations


def changes(source: str) -> set[str]:
    """Returns the changed lines of a source's mutations."""
    return {each.after for each in mutations(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b\n", {"x = a <= b"}),
        ("x = a == b <= c\n", {"x = a != b <= c", "x = a == b < c"}),
        ("x = a is not b\n", {"x = a is b"}),
        ("x = a not in b\n", {"x = a in b"}),
        ("x = a and b and c\n", {"x = a or b and c", "x = a and b or c"}),
        ("x = not (a or b)\n", {"x = (a or b)", "x = not (a and b)"}),
        ("x = (a + b) * -c\n", {"x = (a - b) * -c", "x = (a + b) / -c", "x = (a + b) * c"}),
        ("x //= 2\n", {"x /= 2", "x //= 3"}),
        ("x = 0.5, 0.0\n", {"x = 1.0, 0.0", "x = 0.5, 1.0"}),
        ("x = -7, True\n", {"x = -8, True", "x = -7, False"}),
        ("x = a if b else c\n", {"x = a if True else c", "x = a if False else c"}),
        ("x = [a for a in b if a.c]\n", {"x = [a for a in b if True]"}),
        ("while a:\n    a.pop()\n", {"while False:", "pass"}),
        ("if a:\n    raise B(c)\n", {"if True:", "if False:", "pass"}),
        ("a.b = c\n", {"pass"}),
        ("for a in b:\n    continue\n", {"pass"}),
        ("del a[b], c\n", {"pass"}),
    ],
)  # fmt: skip
def test_what_a_program_does_is_changed(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Says 1 < 2."""\n',
        "x = f'{a + 1:>{b - 1}}'\n",
        "def f(a: int) -> None:\n    del a\n",
        "raise AssertionError(1)\n",
        "def f(a: int | None = None) -> int | str:\n    return a\n",
        "@dataclass(frozen=True)\nclass A:\n    b: int\n",
        "for a, b in zip(c, d, strict=True):\n    x = a\n",
        "if TYPE_CHECKING:\n    from a import b\n",
    ],
)
def test_what_it_says_or_declares_is_not(source: str) -> None:
    assert changes(source) == set()


def test_pydantics_bounds_within_annotations_are_changed() -> None:
    assert changes("a: Annotated[int | None, Field(ge=1)]\n") == {"a: Annotated[int | None, Field(ge=2)]"}


def test_a_comparison_that_is_a_condition_is_only_made_constant() -> None:
    assert changes("x = 7 if a == b else c\n") == {
        "x = 8 if a == b else c",
        "x = 7 if True else c",
        "x = 7 if False else c",
    }
    assert "x = a if b <= c else d" in changes("x = a if b < c else d\n")


def test_changes_are_known_by_their_lines_and_whole_statements() -> None:
    source = 'a = "é" if b else c\nd = f(\n    e,\n    g  # or so\n    or h,\n)\n'
    last = mutations(source)[-1]
    assert (last.before, last.after, last.lines) == ("or h,", "and h,", range(2, 6))
    assert last.source == source.replace("    or h", "    and h")


def test_mutants_of_natxy_are_programs() -> None:
    draw = random.Random(8219)
    for path in (REPOSITORY / "src/natxy/plan").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        found = mutations(source)
        for each in draw.sample(found, min(3, len(found))):
            assert ast.dump(ast.parse(each.source)) != ast.dump(ast.parse(source)), each
