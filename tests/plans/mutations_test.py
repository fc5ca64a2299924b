# SPDX-License-Identifier: Apache-2.0
"""Mutates the plans of this repository, and tests that `natxy check` accepts or explains whatever comes of it.

`NATXY_FUZZ_SECONDS=600 .venv/bin/pytest -s -m fuzz tests/plans/mutations_test.py` does so for ten minutes.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from ruamel.yaml import YAML

from natxy.plan.yaml.round_trip_test import PLANS
from tests.support.checked import checked, explain
from tests.support.nasty_plans import VALUES

SEED: Final = int(os.environ.get("NATXY_FUZZ_SEED", "8219"))
FEW: Final = 40
MANY: Final = 1500
SECONDS: Final = float(os.environ.get("NATXY_FUZZ_SECONDS", "0"))
BYTES: Final = [
    b"\0",
    b"\xff",
    b"\t",
    b":",
    b"- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"&a ",
    b"*a",
    b"!!",
    b"|",
    b">",
    b"'",
    b'"',
]

ODD: Final[list[Any]] = [
    None,
    True,
    "",
    "x" * 1000,
    0,
    -1,
    10**39,
    1e308,
    float("nan"),
    [],
    {},
    [[]],
    [{}],
    {1: 2},
    ["1M", "1M"],
]

Mutation = Callable[[str, random.Random], bytes]


def without_a_line(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return "".join(lines).encode()


def with_a_line_twice(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "".join(lines).encode()


def with_another_indent(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    lines[number] = chance.choice(["", " ", "  ", "\t", "      "]) + lines[number].lstrip(" ")
    return "".join(lines).encode()


def with_other_bytes(text: str, chance: random.Random) -> bytes:
    content = text.encode()
    at = chance.randrange(len(content))
    return content[:at] + chance.choice(BYTES) + content[at + chance.randrange(3) :]


def cut_off(text: str, chance: random.Random) -> bytes:
    content = text.encode()
    return content[: chance.randrange(len(content))]


def with_a_nasty_value(text: str, chance: random.Random) -> bytes:
    """Replaces the value of one line."""
    lines = text.splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines) if ": " in line]
    number = chance.choice(numbers or [0])
    lines[number] = f"{lines[number].partition(': ')[0]}: {chance.choice(VALUES)}\n"
    return "".join(lines).encode()


def rearranged(text: str, chance: random.Random) -> bytes:
    """Puts another value of the plan, or a nasty one, in the place of a value at any depth."""
    document = YAML(typ="safe").load(text)
    places = [*_places(document)]
    holder, key = chance.choice(places)
    other, other_key = chance.choice(places)
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = chance.choice([other[other_key], chance.choice(ODD)])
    return repr(document).encode()


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yields each list or mapping with each of its indexes or keys."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _places(value)


MUTATIONS: Final[list[Mutation]] = [
    without_a_line, with_a_line_twice, with_another_indent, with_other_bytes, cut_off, with_a_nasty_value, rearranged
]  # fmt: skip


def attack(count: int, seconds: float, folder: Path) -> Counter[str]:
    """Checks at least `count` mutated plans, and more until the time is over; returns how many ended in each way."""
    chance = random.Random(SEED)
    texts = [*PLANS.values()]
    end = time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    while outcomes.total() < count or time.monotonic() < end:
        mutate = chance.choice(MUTATIONS)
        text = mutate(chance.choice(texts), chance)
        try:
            found = checked(text, folder)
        except Exception as error:
            raise AssertionError(f"a traceback for a plan that is {mutate.__name__}:\n{text!r}") from error
        assert not explain(found), f"{explain(found)}:\n{found.error[:2000]}\n{text!r}"
        outcomes[f"exit code {found.code}"] += 1
    return outcomes


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.fuzz)])
def test_every_mutated_plan_is_accepted_or_explained(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcomes = attack(count, SECONDS if count == MANY else 0, tmp_path)
    print(", ".join(f"{outcome}: {number:,}" for outcome, number in sorted(outcomes.items())))
    assert outcomes["exit code 2"] > count / 4
    assert outcomes["exit code 0"] > count / 100
