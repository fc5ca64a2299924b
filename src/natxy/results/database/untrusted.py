# SPDX-License-Identifier: Apache-2.0
"""A connection to a database that a stranger may have written: it runs no code of the file, and works in bounds.

A database file may hold code: views, virtual tables, triggers, generated columns, constraints, indexes on expressions.
The databases that natxy writes hold none. Of ordinary tables, each row is read once, so that neither the work nor what
is read can be much more than the file's size explains. Rows of a damaged file may share their pages.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from natxy.errors import PlanError

_STEPS_AT_ONCE: Final = 100_000  # about a millisecond; signals are heeded in between
_FEWEST_STEPS: Final = 20_000_000
_STEPS_PER_BYTE: Final = 50  # of the runs that natxy writes, reading takes less than 1
_FEWEST_BYTES: Final = 1 << 20
_TIMES_READ: Final = 3
_LONGEST: Final = (1 << 31) - 1  # that SQLite can be told
_MOST_OBJECTS: Final = 100
# File systems that compress take a fraction of the space.
_MOST_COMPRESSED: Final = 20
_READING: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA,
                             sqlite3.SQLITE_TRANSACTION})  # fmt: skip
_PRAGMAS: Final = frozenset({"page_count", "page_size", "table_info", "user_version"})
_ORDINARY: Final = {
    # An index that SQLite makes for a constraint has no text.
    "table": re.compile(r'CREATE TABLE (?:"\w+"|\w+) ?\(.*', re.ASCII | re.DOTALL),
    "index": re.compile(r"|CREATE INDEX \w+ ON \w+ \(\w+\)", re.ASCII),
}
# `GENERATED ALWAYS AS (…)`, or `AS (…)` alone; and constraints, which the rows of a resumed run would evaluate.
_CODE: Final = re.compile(r"\b(AS|CHECK)\b", re.IGNORECASE)


class UntrustedDatabase(sqlite3.Connection):
    """Reads tables in bounds. `size` is that of the file in bytes.

    Raises sqlite3.DatabaseError in `bounded` for what goes beyond the bounds.
    """

    def __init__(self, path: str, size: int, **options: Any) -> None:
        super().__init__(path, isolation_level=None, **options)
        self.size = size
        self._steps_left = _FEWEST_STEPS + _STEPS_PER_BYTE * size
        self._bytes_left = _FEWEST_BYTES + _TIMES_READ * size
        self._is_denied = False
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(self._bytes_left, _LONGEST))
        self.set_progress_handler(self._goes_on_too_long, _STEPS_AT_ONCE)
        self.row_factory = self._row

    def forbid_all_but_reading(self) -> None:
        self.set_authorizer(self._permitted)

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """Raises KeyboardInterrupt in this context if a signal came while SQLite worked, which would hide it."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # Errors of Python's own have no code.
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_INTERRUPT and self._steps_left <= 0:
                raise sqlite3.DatabaseError("reading it takes more work than its size explains") from error
            if code == sqlite3.SQLITE_INTERRUPT or (code == sqlite3.SQLITE_AUTH and not self._is_denied):
                raise KeyboardInterrupt from error
            raise

    def _goes_on_too_long(self) -> bool:
        self._steps_left -= _STEPS_AT_ONCE
        return self._steps_left <= 0

    def _permitted(self, action: int, first: str | None, second: str | None, *of: str | None) -> int:
        if action in _READING and (action != sqlite3.SQLITE_PRAGMA or first in _PRAGMAS):
            return sqlite3.SQLITE_OK
        self._is_denied = True
        return sqlite3.SQLITE_DENY

    def _row(self, cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> sqlite3.Row:
        # A number has at least a byte in the file.
        self._bytes_left -= sum(len(each) if isinstance(each, (str, bytes)) else 1 for each in values)
        if self._bytes_left < 0:
            raise sqlite3.DatabaseError("its rows hold more than the whole file: it is damaged")
        return sqlite3.Row(cursor, values)


def refuse_code(db: sqlite3.Connection, file: Path) -> None:
    """Raises PlanError unless the file has only ordinary tables, and indexes of columns.

    Asks for nothing but the schema's own table, since a query of a virtual table would already run its code.
    """
    objects = db.execute("SELECT type, name, rootpage, sql FROM sqlite_schema LIMIT ?", (_MOST_OBJECTS + 1,)).fetchall()
    if len(objects) > _MOST_OBJECTS:
        raise PlanError(f"{file} is not read: it has more than {_MOST_OBJECTS} tables and indexes, and a run has a few")
    for kind, name, page, text in objects:
        declared = str(text or "")
        form = _ORDINARY.get(kind)
        is_ordinary = form is not None and isinstance(page, int) and page > 0 and form.fullmatch(declared)
        if not is_ordinary or (kind == "table" and _CODE.search(declared)):
            raise PlanError(
                f"{file} is not read: its {kind} {name!r:.100} may hold code that is run when it is read, and natxy "
                f"makes none such. Drop that {kind} if it is yours, and do not trust the file otherwise"
            )


def data_bytes(file: Path) -> int:
    """Returns about how many bytes of a file hold data. Holes cost nothing to make, and so justify no work.

    It opens nothing: to close a file frees all locks of this process on it, also those of a run that it writes.
    """
    status = file.stat()
    return min(status.st_size, _MOST_COMPRESSED * 512 * status.st_blocks)


def check_size(db: UntrustedDatabase) -> None:
    """Raises sqlite3.DatabaseError if a file claims more pages than its data can fill."""
    ((pages,), (page_bytes,)) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    if pages * page_bytes > _FEWEST_BYTES + _TIMES_READ * db.size:
        raise sqlite3.DatabaseError("it has more pages than data")


def columns(db: sqlite3.Connection, table: str) -> set[str]:
    """Returns the names of a table's columns, none if there is no such table."""
    return {str(row[1]) for row in _table_info(db, table)}


def sorts_by_id(db: sqlite3.Connection, table: str) -> bool:
    """Returns whether rows are kept in the order of their `id`, which is then free to ask for."""
    keys = [(row[1], row[2], row[5]) for row in _table_info(db, table) if row[5]]
    return keys == [("id", "INTEGER", 1)]


def _table_info(db: sqlite3.Connection, table: str) -> list[Any]:
    quoted = table.replace('"', '""')
    return db.execute(f'PRAGMA table_info("{quoted}")').fetchall()
