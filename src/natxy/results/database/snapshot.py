# SPDX-License-Identifier: Apache-2.0
"""Opens the database of a run for reading, as it is at one moment, without writing to its folder if possible."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

_MOST_COPIES: Final = 5


@contextmanager
def snapshot(file: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection all of whose queries see the same state, whatever a run that is under way writes meanwhile.

    What a killed run left in its write-ahead log counts, also in a folder that cannot be written to. Raises
    sqlite3.DatabaseError when the file is no database or cannot be read.
    """
    log = _log(file)
    if not log.is_file():
        # Without a writer SQLite does not need the files that it would create beside the database.
        with closing(_opened(file, "mode=ro&immutable=1")) as db:
            yield db
        return
    try:
        db = _opened(file, "mode=ro")
    except sqlite3.OperationalError:
        # SQLite can neither use nor make the index of the log beside it.
        with tempfile.TemporaryDirectory(prefix="natxy-read-") as folder, closing(_copied(file, Path(folder))) as db:
            yield db
        return
    with closing(db):
        yield db


def _opened(file: Path, options: str) -> sqlite3.Connection:
    """Begins a transaction that has read, because only then does SQLite hold on to a state."""
    db = sqlite3.connect(f"{file.resolve().as_uri()}?{options}", uri=True, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        # Nothing that the file's own schema says is carried out, and damage is looked for.
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        db.execute("BEGIN")
        db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _copied(file: Path, folder: Path) -> sqlite3.Connection:
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
