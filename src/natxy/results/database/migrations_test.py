# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.plan.caveats import departure, limitation, own_rule
from natxy.results.database.migrations import in_present_schema, schema_number
from natxy.results.database.schema import SCHEMA, SCHEMA_NUMBER
from natxy.results.database.untrusted import UntrustedDatabase
from natxy.results.reader import RunReader
from natxy.results.store import RunStore


def written(folder: Path) -> Path:
    store = RunStore(folder / "results.sqlite")
    store.start_run(name="x", plan_yaml="name: x\n", seed=1, natxy_version="9.9", machine={})
    store.close()
    return folder / "results.sqlite"


def opened(file: Path) -> UntrustedDatabase:
    return UntrustedDatabase(str(file), file.stat().st_size)


def of_schema_12(folder: Path, deviations: object) -> Path:
    file = written(folder)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("ALTER TABLE trial DROP COLUMN dut_counts_json")
        db.execute("ALTER TABLE run RENAME COLUMN caveats_json TO deviations_json")
        db.execute("UPDATE run SET deviations_json = ?", [json.dumps(deviations)])
        db.execute("PRAGMA user_version = 12")
    return file


def test_a_new_database_has_the_number_of_its_schema(tmp_path: Path) -> None:
    with closing(opened(written(tmp_path))) as db:
        assert [*db.execute("PRAGMA user_version").fetchone()] == [SCHEMA_NUMBER]
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
    with closing(opened(written(tmp_path))) as db:
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
    with closing(UntrustedDatabase(":memory:", 1 << 20)) as db:
        db.executescript(SCHEMA)
        db.execute("DROP TABLE transfer")
        since = ("gateway_pause_s", "gateway_stolen_s", "gateway_delayed_s", "disturbance", "dut_load_json")
        for column in (*since, "dut_counts_json"):
            db.execute(f"ALTER TABLE trial DROP COLUMN {column}")
        db.execute(
            "INSERT INTO experiment (name, title, gateway, procedure, family, cell_json, settings_json, unit, state) "
            "VALUES ('x', 'x', 'x', 'throughput', 'ipv4', '{}', '[]', 'fps', 'done')"
        )
        db.execute("PRAGMA user_version = 6")
        with pytest.raises(ValueError, match=r"experiment 1\.settings_json: expected a mapping"), in_present_schema(db):
            pass


def test_a_run_of_schema_10_is_read_as_one_without_loads_of_the_dut(tmp_path: Path) -> None:
    with closing(opened(of_schema_12(tmp_path, []))) as db:
        db.execute("ALTER TABLE trial DROP COLUMN dut_load_json")
        db.execute("PRAGMA user_version = 10")
        with in_present_schema(db) as present:
            assert "dut_load_json" in {column for _, column, *_ in present.execute("PRAGMA table_info (trial)")}
            assert present.execute("SELECT dut_load_json FROM trial").fetchall() == []


def test_a_run_of_schema_13_is_read_as_one_without_counts_of_the_dut(tmp_path: Path) -> None:
    with closing(opened(written(tmp_path))) as db:
        db.execute("ALTER TABLE trial DROP COLUMN dut_counts_json")
        db.execute("PRAGMA user_version = 13")
        with in_present_schema(db) as present:
            assert "dut_counts_json" in {column for _, column, *_ in present.execute("PRAGMA table_info (trial)")}


def test_the_words_of_schema_12_tell_the_kinds_of_caveats(tmp_path: Path) -> None:
    reset = "Reset is measured at 50 % of the throughput; RFC 6201 asks for the measured throughput."
    short = "The traffic of a trial lasts 4 s; RFC 2544 §24 asks for at least 60 s."
    title = "RFC 9693 run: `ratio_at_least` is not judged, because `--only` leaves out the baseline."
    of_schema_12(tmp_path, [reset, short, title, "natxy's own rule: a trial may be late."])
    expected = [departure(reset), departure(short), limitation(title), own_rule("A trial may be late.")]
    assert RunReader(tmp_path).run.caveats == expected


def test_a_caveat_of_schema_12_that_is_no_text_is_a_fault_of_the_file(tmp_path: Path) -> None:
    with (
        closing(opened(of_schema_12(tmp_path, [1]))) as db,
        pytest.raises(ValueError, match=r"run 1\.deviations_json: expected a list of texts"),
        in_present_schema(db),
    ):
        pass
