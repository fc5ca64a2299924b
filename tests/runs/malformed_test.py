# SPDX-License-Identifier: Apache-2.0
"""Mutates every stored value of a readable database, and calls every verb that reads runs: none ends in a traceback.

A mutation is refused with the place and what was expected there, or it is accepted, and then every verb ends normally.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import traceback
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from tests.support.stored_values import NAMES, Place, change, measured, places, replace_text, without_types

VALUES: Final[dict[str, Any]] = {
    "null": None, "true": True, "zero": 0, "negative": -1, "huge": 10**400, "large": 2**63, "fraction": 0.5,
    "largest": 1.7e308, "infinite": float("inf"), "nan": float("nan"), "text": "x", "empty": "", "list": [],
    "object": {}, "nested": [[{}]], "long": "9" * 5000,
}  # fmt: skip
TEXTS: Final = {
    "no JSON": "{", "nothing": "", "deep": "[" * 100_000, "digits": "1" * 10_000, "binary": b"\xff\xfe",
    "absent": None, "integer": 5, "real": float("inf"),
    "null": "null", "YAML": "a: [", "alias": "a: &a [*a]", "tag": "!!python/object:os.system {}", "text": "x",
}  # fmt: skip
ALL: Final = (*VALUES, *(name for name in TEXTS if name not in VALUES), "missing")
VERBS: Final = (
    ["report", "RUN"],
    ["report", "RUN", "--format", "csv"],
    ["report", "RUN", "--format", "latex"],
    ["report", "RUN", "--charts", "json"],
    ["report", "RUN", "--benchmark", "bigger-is-better"],
    ["judge", "RUN"],
    ["compare", "RUN", "CLEAN"],
    ["compare", "CLEAN", "RUN", "--fail-below", "5%"],
    ["history", "RUN", "--format", "json"],
    ["history", "RUN"],
    ["export", "RUN", "--format", "csv"],
    ["export", "RUN", "--format", "json"],
)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("clean") / "run")


def mutations(run: Path, names: Collection[str]) -> Iterator[tuple[Place, str]]:
    for place in places(run, texts_only=False):
        kinds: Collection[str] = VALUES if place.path else TEXTS
        if place.path and place.path[-1] == NAMES:
            kinds = ["missing"]
        yield from ((place, name) for name in kinds if name in names)


def mutate(run: Path, place: Place, name: str) -> None:
    if name == "missing":
        change(run, place, lambda _: "other", first_only=True)
    elif place.path:
        change(run, place, lambda _: VALUES[name], first_only=True)
    else:
        replace_text(run, place, TEXTS[name])


def refusal(run: Path, place: Place, name: str) -> str:
    """Mutates a value. When the run is not read then, takes it back and returns the error; otherwise an empty text."""
    sound = (run / RESULTS_FILE).read_bytes()
    try:
        mutate(run, place, name)
        RunReader(run)
    except sqlite3.IntegrityError:
        # Two rows with one number.
        return ""
    except PlanError as error:
        (run / RESULTS_FILE).write_bytes(sound)
        return str(error)
    return ""


def tracebacks(run: Path, clean: Path) -> Iterator[str]:
    """Yields the verbs that end in another way than with a result or an error that the user can mend."""
    words = {"RUN": str(run), "CLEAN": str(clean)}
    for verb in VERBS:
        done = CliRunner().invoke(app, [words.get(word, word) for word in verb])
        if done.exception and not isinstance(done.exception, SystemExit):
            where = traceback.extract_tb(done.exception.__traceback__)[-1]
            yield f"{' '.join(verb)}: {done.exception!r} in {where.filename}:{where.lineno}"
        elif done.exit_code not in (0, 2, 6):
            yield f"{' '.join(verb)}: exit code {done.exit_code}: {done.output}"


@pytest.fixture
def run(clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Drawing takes most of the time, and knows nothing of runs.
    monkeypatch.setattr("natxy.report.page.shared.page_svg", lambda chart: chart.description)
    folder = Path(shutil.copytree(clean, tmp_path / "run"))
    without_types(folder)
    return folder


# A truth value is taken for a number.
pytestmark = pytest.mark.filterwarnings("ignore:__int__ returned non-int:DeprecationWarning")

SOME: Final = ("null", "huge", "text", "list")


def _more(names: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.more) for name in names]


@pytest.mark.parametrize("name", [*SOME, *_more(name for name in ALL if name not in SOME)])
def test_no_value_ends_in_a_traceback(run: Path, clean: Path, name: str) -> None:
    refused = {place: refusal(run, place, name) for place, name in mutations(clean, {name})}
    for place, error in refused.items():
        assert not error or re.search(rf"{place.table} \d+\.|{place.table}\.{place.column}", error), f"{place}: {error}"
    assert [*tracebacks(run, clean)] == [], [str(place) for place, error in refused.items() if not error]
    assert any(refused.values())


@pytest.mark.long
def test_no_single_value_ends_in_a_traceback(run: Path, clean: Path) -> None:
    sound = (run / RESULTS_FILE).read_bytes()
    wrong = []
    for place, name in random.Random(1).sample([*mutations(clean, ALL)], 100):
        if not refusal(run, place, name):
            wrong += [f"{place} = {name}: {found}" for found in tracebacks(run, clean)]
            (run / RESULTS_FILE).write_bytes(sound)
    assert wrong == []
