# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.results.database.migrations import in_present_schema, schema_number
from natxy.results.database.schema import SCHEMA, SCHEMA_NUMBER
from natxy.results.store import RunStore


def written(folder: Path) -> Path:
    store = RunStore(folder / "results.sqlite")
    store.start_run(name="x", plan_yaml="name: x\n", seed=1, natxy_version="9.9", machine={})
    store.close()
    return folder / "results.sqlite"


def test_a_new_database_has_the_number_of_its_schema(tmp_path: Path) -> None:
    with closing(sqlite3.connect(written(tmp_path))) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_NUMBER,)
        with in_present_schema(db) as present:
            assert present is db


@pytest.mark.parametrize("stated", [0, -1])
def test_without_a_number_the_columns_tell(tmp_path: Path, stated: int) -> None:
    with closing(sqlite3.connect(written(tmp_path))) as db:
        db.execute(f"PRAGMA user_version = {stated}")
        assert schema_number(db) == 11
        db.execute("ALTER TABLE trial DROP COLUMN dut_load_json")
        assert schema_number(db) == 10
        db.execute("ALTER TABLE trial DROP COLUMN disturbance")
        assert schema_number(db) == 9


def test_a_later_schema_is_an_error_that_names_the_version(tmp_path: Path) -> None:
    with closing(sqlite3.connect(written(tmp_path))) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_NUMBER + 1}")
        expected = rf"natxy 9\.9 wrote these results by schema {SCHEMA_NUMBER + 1}, and this natxy knows schemas up to"
        with pytest.raises(PlanError, match=expected), in_present_schema(db):
            pass


@pytest.mark.parametrize("number", [1, SCHEMA_NUMBER - 1, SCHEMA_NUMBER + 1])
def test_a_run_of_another_schema_is_not_gone_on_with(tmp_path: Path, number: int) -> None:
    file = written(tmp_path)
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(PlanError, match=f"is of schema {number}, and this natxy writes schema {SCHEMA_NUMBER}: resume"):
        RunStore(file, resume=True)


def test_settings_that_are_no_mapping_are_a_fault_of_the_file() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(SCHEMA)
        db.execute("DROP TABLE transfer")
        for column in ("gateway_pause_s", "gateway_stolen_s", "gateway_delayed_s", "disturbance", "dut_load_json"):
            db.execute(f"ALTER TABLE trial DROP COLUMN {column}")
        db.execute(
            "INSERT INTO experiment (name, title, gateway, procedure, family, cell_json, settings_json, unit, state) "
            "VALUES ('x', 'x', 'x', 'throughput', 'ipv4', '{}', '[]', 'fps', 'done')"
        )
        db.execute("PRAGMA user_version = 6")
        with pytest.raises(ValueError, match=r"experiment 1\.settings_json: expected a mapping"), in_present_schema(db):
            pass


def test_a_run_of_schema_10_is_read_as_one_without_loads_of_the_dut(tmp_path: Path) -> None:
    with closing(sqlite3.connect(written(tmp_path))) as db:
        db.execute("ALTER TABLE trial DROP COLUMN dut_load_json")
        db.execute("PRAGMA user_version = 10")
        with in_present_schema(db) as present:
            assert "dut_load_json" in {column for _, column, *_ in present.execute("PRAGMA table_info (trial)")}
            assert present.execute("SELECT dut_load_json FROM trial").fetchall() == []
