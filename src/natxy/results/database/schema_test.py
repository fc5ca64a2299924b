# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.results.database.schema import SCHEMA_NUMBER
from natxy.results.reader import RunReader
from natxy.results.store import RunStore


@pytest.mark.parametrize("number", [0, SCHEMA_NUMBER + 1, -1])
def test_a_run_of_another_schema_is_neither_read_nor_gone_on_with(tmp_path: Path, number: int) -> None:
    file = tmp_path / "results.sqlite"
    store = RunStore(file)
    store.start_run(name="x", plan_yaml="name: x\n", seed=1, natxy_version="9.9", machine={})
    store.close()
    assert RunReader(tmp_path).run.name == "x"
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {number}")
    expected = rf"is of schema {number}, which natxy 9\.9 wrote, and this natxy knows schema {SCHEMA_NUMBER}: use it"
    with pytest.raises(PlanError, match=expected):
        RunReader(tmp_path)
    with pytest.raises(PlanError, match=expected):
        RunStore(file, resume=True)
