# SPDX-License-Identifier: Apache-2.0
"""An index of runs, so that a run that did not change is not read again.

It is a cache: without it, or when it is damaged or of another format, every run is read from its folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from natxy.history.past import PastRun
from natxy.system.cache import cache_folder
from natxy.system.interrupts import serialized

# To be raised when `PastRun` changes its meaning; other changes are found when a row is read.
_FORMAT: Final = 2
_WAIT_S: Final = 5.0
_RUN: Final = TypeAdapter(PastRun)


def index_file() -> Path:
    """Returns the file of the index."""
    return cache_folder() / "history.sqlite"


def fingerprint(results: Path) -> str:
    """Returns a text that changes whenever the database does, with what its write-ahead log holds.

    OSError when it cannot be looked at.
    """
    found = [results.stat()]
    with suppress(FileNotFoundError):
        found.append(results.with_name(results.name + "-wal").stat())
    return " ".join(f"{each.st_ino}:{each.st_size}:{each.st_mtime_ns}" for each in found)


class Index:
    """Keeps runs by the path of their database and its fingerprint. Several processes may use one index."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.problem = ""
        """Says why the index could not be used; empty if it could."""

    def known(self) -> Mapping[str, tuple[str, str]]:
        """Returns the fingerprint and the text of every run that is kept, by path."""
        if not self._file.exists():
            return {}
        try:
            with closing(self._connect()) as db:
                if _format(db) != _FORMAT:
                    return {}
                return {path: (mark, text) for path, mark, text in db.execute("SELECT path, fingerprint, run FROM run")}
        except (sqlite3.Error, OSError) as error:
            self._discard(error)
            return {}

    def update(self, runs: Iterable[tuple[str, str, PastRun]], gone: Iterable[str]) -> None:
        """Adds or replaces runs, given as path, fingerprint and run, and removes those whose paths are `gone`.

        An error is left in `problem`.
        """
        rows = [(path, mark, serialized(run, _RUN)) for path, mark, run in runs]
        removed = [(path,) for path in gone]
        if not rows and not removed:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as db, db:
                db.execute("BEGIN IMMEDIATE")
                if _format(db) != _FORMAT:
                    db.execute("DROP TABLE IF EXISTS run")
                    db.execute("CREATE TABLE run (path TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, run TEXT NOT NULL)")
                    db.execute(f"PRAGMA user_version = {_FORMAT}")
                db.executemany("INSERT OR REPLACE INTO run VALUES (?, ?, ?)", rows)
                db.executemany("DELETE FROM run WHERE path = ?", removed)
        except (sqlite3.Error, OSError) as error:
            self._discard(error)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=_WAIT_S, isolation_level=None)

    def _discard(self, error: Exception) -> None:
        """Removes a damaged index, so that the next command makes a new one."""
        self.problem = f"the index {self._file} could not be used ({error}), so every run was read from its folder"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            with suppress(OSError):
                self._file.unlink()


def from_text(text: str) -> PastRun | None:
    """Returns a run that was kept; None for the text of another version of natxy."""
    try:
        return _RUN.validate_json(text)
    except ValidationError:
        return None


def _format(db: sqlite3.Connection) -> int:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    return int(found)
