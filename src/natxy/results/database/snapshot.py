# SPDX-License-Identifier: Apache-2.0
"""Opens the database of a run for reading, as it is at one moment, without writing to its folder if possible."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from natxy.errors import DutError
from natxy.results import RESULTS_FILE
from natxy.results.database.untrusted import UntrustedDatabase, check_size, data_bytes, refuse_code
from natxy.system.temporary_folder import temporary_folder

_MOST_COPIES: Final = 5


@contextmanager
def snapshot(file: Path) -> Iterator[UntrustedDatabase]:
    """Yields a connection all of whose queries see the same state, whatever a run that is under way writes meanwhile.

    What a killed run left in its write-ahead log counts, also in a folder that cannot be written to. Raises
    sqlite3.DatabaseError when the file is no database, cannot be read, or goes beyond its bounds, and
    PlanError when it holds code.
    """
    log = _log(file)
    if not log.is_file():
        # Without a writer SQLite does not need the files that it would create beside the database.
        with closing(_opened(file, "mode=ro&immutable=1")) as db, db.bounded():
            yield db
        return
    try:
        db = _opened(file, "mode=ro")
    except sqlite3.OperationalError:
        # SQLite can neither use nor make the index of the log beside it.
        with _folder_of_own() as folder, closing(_copied(file, folder)) as db, db.bounded():
            yield db
        return
    with closing(db), db.bounded():
        yield db


@contextmanager
def in_memory(content: bytes) -> Iterator[UntrustedDatabase]:
    """Yields a connection to a database whose file has this content, as `snapshot` does. No file is made."""
    with closing(UntrustedDatabase(":memory:", len(content))) as db, db.bounded():
        # A database in memory has no write-ahead log (SQLite's file format, offsets 18 and 19).
        unlogged = bytearray(content)
        unlogged[18:20] = b"\1\1"
        db.deserialize(unlogged)
        _prepare(db, Path(RESULTS_FILE))
        yield db


@contextmanager
def _folder_of_own() -> Iterator[Path]:
    """Makes a temporary folder, which `natxy cleanup` knows if the ledger can be written."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder("natxy-read-"))
        except DutError:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="natxy-read-")))
        yield folder


def _opened(file: Path, options: str) -> UntrustedDatabase:
    """Begins a transaction that has read, because only then does SQLite hold on to a state."""
    try:
        size = sum(data_bytes(each) for each in (file, _log(file)) if each.is_file())
    except OSError as error:
        # SQLite may delete its log at any moment.
        raise sqlite3.OperationalError(str(error)) from error
    db = UntrustedDatabase(f"{file.resolve().as_uri()}?{options}", size, uri=True)
    try:
        with db.bounded():
            _prepare(db, file)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: UntrustedDatabase, file: Path) -> None:
    # Nothing that the file's own schema says is carried out, and damage is looked for.
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    db.forbid_all_but_reading()
    db.execute("BEGIN")
    refuse_code(db, file)
    check_size(db)


def _copied(file: Path, folder: Path) -> UntrustedDatabase:
    """Opens a copy of the database and its log, both of the same moment."""
    try:
        for _ in range(_MOST_COPIES):
            before = _state(file)
            for each in (file, _log(file)):
                shutil.copyfile(each, folder / each.name)
            if _state(file) == before:
                return _opened(folder / file.name, "mode=rw")
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    raise sqlite3.OperationalError("it changes all the time, and its folder cannot be written to")


def _state(file: Path) -> list[tuple[int, int]]:
    return [(each.st_size, each.st_mtime_ns) for each in (file.stat(), _log(file).stat())]


def _log(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")
