# SPDX-License-Identifier: Apache-2.0
"""Damages the file of a run's database anywhere, and calls verbs that read runs: none ends in a traceback.

`NATXY_FUZZ_SECONDS=600 .venv/bin/pytest -s -m fuzz tests/runs/damaged_test.py` does so for ten minutes.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from tests.support.stored_values import measured

SEED: Final = int(os.environ.get("NATXY_FUZZ_SEED", "8219"))
FEW: Final = 60
MANY: Final = 300
SECONDS: Final = float(os.environ.get("NATXY_FUZZ_SECONDS", "0"))
PAGE: Final = 4096
VERBS: Final = (["report", "RUN", "--format", "csv"], ["export", "RUN", "--format", "json"], ["judge", "RUN"])

Damage = Callable[[bytearray, random.Random], None]


def some_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 1, 10, 100])):
        content[chance.randrange(len(content))] = chance.randrange(256)


def one_bit(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def header(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(100)] = chance.randrange(256)


def page_without_content(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(0, len(content), PAGE)
    content[at : at + PAGE] = bytes(PAGE)


def page_of_another_place(content: bytearray, chance: random.Random) -> None:
    at, other = (chance.randrange(0, len(content), PAGE) for _ in range(2))
    content[at : at + PAGE] = content[other : other + PAGE]


def beginning_of_a_page(content: bytearray, chance: random.Random) -> None:
    """Damages what says where the cells of a page are."""
    content[chance.randrange(0, len(content), PAGE) + chance.randrange(16)] = chance.randrange(256)


def cut_off(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


DAMAGES: Final[list[Damage]] = [
    some_bytes, one_bit, header, page_without_content, page_of_another_place, beginning_of_a_page, cut_off
]  # fmt: skip


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("clean") / "run")


def outcome(run: Path) -> str:
    """Reads a run by one verb after the other; returns how the first of them ended that did not end well."""
    try:
        RunReader(run)
    except PlanError:
        return "refused"
    for verb in VERBS:
        done = CliRunner().invoke(app, [str(run) if word == "RUN" else word for word in verb])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code in (0, 2, 6), done.output
        if done.exit_code == 2:
            return "refused by a verb"
    return "read"


def attack(run: Path, count: int, seconds: float) -> Counter[str]:
    """Reads at least `count` damaged databases, and more until the time is over; returns how many ended in each way."""
    chance = random.Random(SEED)
    database = run / RESULTS_FILE
    sound = database.read_bytes()
    end = time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    while outcomes.total() < count or time.monotonic() < end:
        damage = chance.choice(DAMAGES)
        content = bytearray(sound)
        damage(content, chance)
        database.write_bytes(content)
        try:
            outcomes[outcome(run)] += 1
        except Exception as error:
            raise AssertionError(f"a traceback for database {outcomes.total() + 1}: {damage.__name__}") from error
    return outcomes


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.fuzz)])
def test_no_damaged_database_ends_in_a_traceback(
    count: int, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = Path(shutil.copytree(clean, tmp_path / "run"))
    outcomes = attack(run, count, SECONDS if count == MANY else 0)
    print(", ".join(f"{how}: {number:,}" for how, number in sorted(outcomes.items())))
    assert outcomes["refused"] > count / 10
    assert outcomes["read"] > count / 10
