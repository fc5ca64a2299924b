# SPDX-License-Identifier: Apache-2.0
"""Databases that hold code, are damaged, or make much of little: each reader ends, with words, soon."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pytest

from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.database.schema import SCHEMA_NUMBER
from natxy.results.database.untrusted import UntrustedDatabase, data_bytes, refuse_code
from natxy.results.reader import RunReader
from natxy.results.store import RunStore
from tests.support.sample_runs import quickstart

_ENDLESS: Final = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0"
# On a machine many times slower than those of today.
_MOST_CPU_S: Final = 10.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quickstart(tmp_path_factory.mktemp("untrusted") / "run")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def names(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def virtual_table(db: sqlite3.Connection, table: str) -> None:
    """A table of full-text search over a view that never ends; what the search keeps beside it is deleted."""
    columns = names(db, table)
    db.execute(f"DROP TABLE {table}")
    db.execute(f"CREATE VIEW endless AS {_ENDLESS.replace('SELECT x FROM', f'SELECT {_of(columns)} FROM')}")
    db.execute(f'CREATE VIRTUAL TABLE {table} USING fts4(content="endless", {", ".join(columns)})')
    db.commit()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_schema WHERE name GLOB ? OR name GLOB ?", (f"{table}_*", f"*autoindex_{table}*"))
    db.commit()


def has_run(folder: Path) -> bool:
    return RunStore.has_run(folder / RESULTS_FILE)


def view(db: sqlite3.Connection, table: str) -> None:
    columns = names(db, table)
    db.execute(f"DROP TABLE {table}")
    db.execute(f"CREATE VIEW {table} AS {_ENDLESS.replace('SELECT x FROM', f'SELECT {_of(columns)} FROM')}")


def view_that_is_called_a_table(db: sqlite3.Connection, table: str) -> None:
    view(db, table)
    db.commit()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET type = 'table' WHERE name = ?", (table,))


def trigger(db: sqlite3.Connection, table: str) -> None:
    db.execute(f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM run; END")


def generated_column(db: sqlite3.Connection, table: str) -> None:
    columns = names(db, table)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute(f"DROP TABLE {table}")
    db.execute(
        f"CREATE TABLE {table} ({columns[0]}, {', '.join(f'{each} as (zeroblob(1000000000))' for each in columns[1:])})"
    )


def constraint(db: sqlite3.Connection, table: str) -> None:
    """The rows of a resumed run would evaluate it: minutes within a single step of SQLite's."""
    slow = "instr(hex(zeroblob(1000000)), hex(zeroblob(500000)) || '1') = 0"
    db.execute(f"ALTER TABLE {table} ADD COLUMN slow TEXT CHECK (slow IS NULL OR {slow})")


def index_of_an_expression(db: sqlite3.Connection, table: str) -> None:
    db.execute(f"CREATE INDEX i ON {table} (abs(id))")


def too_many_tables(db: sqlite3.Connection, table: str) -> None:
    for number in range(200):
        db.execute(f"CREATE TABLE t{number} (id)")


def _of(columns: list[str]) -> str:
    return ", ".join(f"x AS {each}" for each in columns)


@pytest.mark.parametrize("table", ["run", "repetition", "trial"])
@pytest.mark.parametrize(
    "hostile",
    [
        virtual_table, view, view_that_is_called_a_table, trigger, generated_column, constraint, index_of_an_expression,
        too_many_tables,
    ],
)  # fmt: skip
def test_code_in_a_file_is_not_run(run: Path, hostile: Callable[[sqlite3.Connection, str], None], table: str) -> None:
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db:
        hostile(db, table)
        db.commit()
    for read in (lambda: RunReader(run), lambda: RunStore(run / RESULTS_FILE, resume=True), lambda: has_run(run)):
        with pytest.raises((PlanError, sqlite3.DatabaseError), match=r"may hold code|more than 100 tables|malformed"):
            read()


def test_rows_that_share_their_bytes_are_damage() -> None:
    db = UntrustedDatabase(":memory:", 100_000)
    db.execute("CREATE TABLE one (text)")
    db.execute("INSERT INTO one VALUES (?)", ("x" * 100_000,))
    db.execute("INSERT INTO one SELECT text FROM one, json_each(?)", (str([*range(20)]),))
    with db.bounded(), pytest.raises(sqlite3.DatabaseError, match="hold more than the whole file"):
        db.execute("SELECT text FROM one").fetchall()


def test_rows_of_numbers_count_too() -> None:
    db = UntrustedDatabase(":memory:", 1000)
    db.execute("CREATE TABLE one (a, b, c, d)")
    db.execute("INSERT INTO one SELECT 1, 1, 1, 1 FROM json_each(?)", (str([*range(1000)]),))
    with db.bounded(), pytest.raises(sqlite3.DatabaseError, match="hold more than the whole file"):
        db.execute("SELECT x.* FROM one x, one y").fetchall()


def test_a_file_of_holes_has_the_size_of_its_data(run: Path) -> None:
    file = run / RESULTS_FILE
    size = data_bytes(file)
    assert 0 < size <= file.stat().st_size
    os.truncate(file, 1 << 40)
    assert data_bytes(file) < 50 * size
    with file.open("r+b") as opened:
        # SQLite's header has the number of pages.
        opened.seek(28)
        opened.write((1 << 28).to_bytes(4))
    with pytest.raises(PlanError, match="more pages than data"):
        RunReader(run)


def test_a_run_that_this_process_writes_keeps_its_locks(run: Path) -> None:
    def locks() -> list[str]:
        own = re.compile(rf"POSIX .* {os.getpid()} \S+:{(run / RESULTS_FILE).stat().st_ino} ")
        return [line for line in Path("/proc/locks").read_text().splitlines() if own.search(line)]

    store = RunStore(run / RESULTS_FILE, resume=True)
    try:
        held = locks()
        assert held
        RunReader(run)
        assert len(locks()) == len(held)
    finally:
        store.close()


@pytest.mark.parametrize("id_", ["id", "id INTEGER", "id TEXT PRIMARY KEY"])
def test_a_table_that_would_have_to_be_sorted_is_refused(run: Path, id_: str) -> None:
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        others = ", ".join(each for each in names(db, "session") if each != "id")
        db.execute("ALTER TABLE session RENAME TO old")
        db.execute(f"CREATE TABLE session ({id_}, {others})")
        db.execute(f"INSERT INTO session SELECT id, {others} FROM old")
        db.execute("DROP TABLE old")
        db.commit()
    with pytest.raises(PlanError, match=r"session\.id is no integer primary key"):
        RunReader(run)


def test_work_that_the_size_does_not_explain_ends() -> None:
    db = UntrustedDatabase(":memory:", 1000)
    with pytest.raises(sqlite3.DatabaseError, match="takes more work than its size explains"), db.bounded():
        db.execute(_ENDLESS).fetchall()


def test_an_interrupt_in_the_midst_of_a_query_is_heeded() -> None:
    db = UntrustedDatabase(":memory:", 10**12)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt), db.bounded():
        db.execute(_ENDLESS).fetchall()
    timer.join()


def test_nothing_but_reading_is_permitted() -> None:
    db = UntrustedDatabase(":memory:", 1000)
    db.execute("CREATE TABLE one (text)")
    db.forbid_all_but_reading()
    refuse_code(db, Path("memory"))
    for statement in (
        "ATTACH 'x' AS y",
        "DELETE FROM one",
        "PRAGMA journal_mode = WAL",
        "CREATE TEMP TABLE t (x)",
        _ENDLESS,
    ):
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"), db.bounded():
            db.execute(statement)


def test_a_row_for_each_repetition_of_each_trial_ends_soon(run: Path) -> None:
    """Without the index that natxy makes, each repetition would look at each trial."""
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db:
        db.execute("DROP INDEX trial_of_repetition")
        db.execute("PRAGMA foreign_keys = OFF")
        columns = [each for each in names(db, "repetition") if each not in ("id", "number")]
        listed = ", ".join(columns)
        for _ in range(10):
            db.execute(
                f"INSERT INTO repetition (number, {listed}) SELECT number + (SELECT max(number) FROM repetition), "
                f"{listed} FROM repetition WHERE experiment_id = 1"
            )
        db.commit()
    began = time.process_time()
    with suppress(PlanError):
        RunReader(run)
    assert time.process_time() - began < _MOST_CPU_S


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_answered_soon(run: Path, seed: int) -> None:
    """Bytes of any page, of the schema's page in particular, and of the text of its statements."""
    file = run / RESULTS_FILE
    whole = file.read_bytes()
    dice = random.Random(seed)
    for _ in range(100):
        bytes_ = bytearray(whole)
        for _ in range(dice.choice((1, 3, 30))):
            end = dice.choice((100, 4096, len(bytes_)))
            start = dice.randrange(end)
            replaced = dice.choice((dice.randbytes(1), b"\xff" * 2, b"\0" * 4, bytes_[: dice.randrange(64)]))
            bytes_[start : start + len(replaced)] = replaced
        file.write_bytes(bytes_[: len(whole)])
        began = time.process_time()
        with suppress(PlanError):
            RunReader(run)
        assert time.process_time() - began < _MOST_CPU_S


def test_the_present_schema_is_read(run: Path) -> None:
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db:
        refuse_code(db, run)
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_NUMBER,)
