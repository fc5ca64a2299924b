# SPDX-License-Identifier: Apache-2.0
"""Tests that runs which earlier builds of natxy stored are read, by folders that those builds wrote.

Each folder in tests/stored_runs is of one schema, and has what its build measured of the simulated gateway.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from natxy.plan.caveats import CaveatKind
from natxy.results.database.migrations import schema_number
from natxy.results.database.schema import SCHEMA_NUMBER
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State

STORED: Final = Path(__file__).parents[4] / "tests/stored_runs"
SCHEMAS: Final = range(1, 14)
# Tests between hosts are stored since this schema.
GOODPUT: Final = 6


@pytest.fixture(params=SCHEMAS)
def schema(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def folder(schema: int, tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED / f"schema-{schema}", tmp_path / "run"))


def digests(folder: Path) -> dict[str, str]:
    """Returns the digests of all files but the pages that a command writes beside them."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.suffix != ".html"}


def test_every_schema_has_its_folder() -> None:
    assert max(SCHEMAS) >= SCHEMA_NUMBER - 1, "a new schema needs a small run of the one before it in tests/stored_runs"


def test_the_folder_is_of_its_schema(folder: Path, schema: int) -> None:
    with closing(sqlite3.connect(folder / "results.sqlite")) as db:
        assert schema_number(db) == schema
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000


def test_results_are_read_and_nothing_is_written(folder: Path, schema: int) -> None:
    before = digests(folder)
    run = RunReader(folder).run
    assert digests(folder) == before
    assert run.state == RunState.DONE
    assert run.active_s >= 0
    names = ["baseline", "nat", *(["goodput"] if schema >= GOODPUT else [])]
    assert [experiment.name for experiment in run.experiments] == names
    assert all(experiment.state == State.DONE for experiment in run.experiments)
    baseline, nat, *goodput = run.experiments
    # The simulated gateway's limits: 900 kfps of both directions, and 300,000 connections per second.
    assert baseline.values == [pytest.approx(450_000, abs=100_000)] * 2
    assert nat.values == [pytest.approx(300_000, abs=100_000)] * 2
    for experiment in (baseline, nat):
        for repetition in experiment.repetitions:
            headline = experiment.planned.procedure.headline().name
            assert repetition.figures[headline] == repetition.value
            assert repetition.lower_bound == repetition.value
            assert repetition.trials
            assert all(trial.result.streams for trial in repetition.trials)
    # From schema 12 on, a run also had rules of natxy's own.
    kinds = {CaveatKind.DEPARTURE, CaveatKind.LIMITATION} | ({CaveatKind.OWN_RULE} if schema >= 12 else set())
    assert {caveat.kind for caveat in run.caveats} == kinds
    for experiment in goodput:
        transfers = [len(repetition.transfers) for repetition in experiment.repetitions]
        assert all(transfers) == (schema > GOODPUT)
