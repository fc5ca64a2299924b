# SPDX-License-Identifier: Apache-2.0
"""Makes a measured run, and changes the values that its database stores, one kind of place after the other."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from typer.testing import CliRunner

from natxy.cli import app
from natxy.results import RESULTS_FILE

PLAN: Final = """\
name: stored
description: A run with every kind of result
seed: 7
testbed: {kind: simulated, noise: 0.02}
timing: lab
repeat: 2
published: [iptables-capacity]
defaults:
  gateway: {driver: simulated, forwarding_fps: 400k, connection_rate_fps: 90k}
  search: {min_rate: 1k, max_rate: 1M, error: 5%}
experiments:
  - {name: forwarding, title: Forwarding, procedure: throughput, expect: {at_least: 300k}}
  - {name: again, title: Again, procedure: throughput, baseline: forwarding}
  - {name: sizes, title: Sizes, procedure: throughput, frame_size: [64, 512]}
  - {name: latency, title: Latency, procedure: latency, rate: {experiment: forwarding, percent: 50}}
  - {name: rate, title: Rate, procedure: connection-rate, connections: 10k, expect: {at_least: 1M}}
  - {name: goodput, title: Goodput, procedure: tcp-goodput}
"""

ANY: Final = "*"
"""Any index of a list."""
NAMES: Final = "names"
"""The names of an object's fields."""


class Place(NamedTuple):
    """Names a kind of stored value: a column and, in its JSON, a path from the outside in."""

    table: str
    column: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.table, self.column, *self.path))


def measured(folder: Path) -> Path:
    """Makes a run by measuring a simulated gateway, with its report; `folder` is its folder."""
    plan = folder.with_suffix(".yaml")
    plan.write_text(PLAN)
    done = CliRunner().invoke(app, ["run", str(plan), "--output", str(folder)])
    assert done.exit_code in (0, 6), done.output
    return folder


def places(run: Path, *, texts_only: bool) -> list[Place]:
    """Returns the kinds of values in a run's database, each JSON object and list among them unless `texts_only`."""
    found: dict[Place, None] = {}
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db:
        for table, column, kind in _columns(db):
            if texts_only and kind != "TEXT":
                continue
            for (text,) in db.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
                if not column.endswith("_json"):
                    found[Place(table, column)] = None
                    continue
                for path, value in _within(json.loads(text)):
                    if not texts_only or isinstance(value, str) or (path and path[-1] == NAMES):
                        found[Place(table, column, path)] = None
    return [*found]


def change(run: Path, place: Place, new: Callable[[Any], Any], *, first_only: bool = False) -> None:
    """Replaces the values in a kind of place by what `new` makes of each; with `first_only`, in one row alone."""
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db, db:
        rows = db.execute(f"SELECT id, {place.column} FROM {place.table} WHERE {place.column} IS NOT NULL").fetchall()
        for row, text in rows[:1] if first_only else rows:
            if place.column.endswith("_json"):
                if not _is_json(text):
                    continue
                text = json.dumps(_changed(json.loads(text), place.path, new))
            else:
                text = new(text)
            db.execute(f"UPDATE {place.table} SET {place.column} = ? WHERE id = ?", (text, row))


def replace_text(run: Path, place: Place, text: object) -> None:
    """Replaces the whole value of a column in one row by `text`."""
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db, db:
        (row,) = db.execute(f"SELECT min(id) FROM {place.table} WHERE {place.column} IS NOT NULL").fetchone()
        db.execute(f"UPDATE {place.table} SET {place.column} = ? WHERE id = ?", (text, row))


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True


def without_types(run: Path) -> None:
    """Lets every column of a run's database hold any value, as in a file that natxy did not write."""
    with closing(sqlite3.connect(run / RESULTS_FILE)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        for word in (") STRICT", " NOT NULL", " TEXT", " INTEGER", " REAL"):
            kept = ")" if word == ") STRICT" else ""
            # The key's column numbers the rows.
            db.execute(
                "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'INTEGER PRIMARY KEY', '@'), ?, ?), '@', "
                "'INTEGER PRIMARY KEY') WHERE type = 'table'",
                (word, kept),
            )


def _columns(db: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        for name, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall():
            if name != "id":
                yield table, name, kind


def _within(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, value
    if isinstance(value, dict):
        yield (*path, NAMES), [*value]
        for name, inner in value.items():
            yield from _within(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _within(inner, (*path, ANY))


def _changed(value: Any, path: tuple[str, ...], new: Callable[[Any], Any]) -> Any:
    if not path:
        return new(value)
    first, *rest = path
    if isinstance(value, list):
        return [_changed(inner, (*rest,), new) for inner in value]
    if not isinstance(value, dict):
        return value
    if first == NAMES and not rest:
        return {new(name): inner for name, inner in value.items()}
    return {name: _changed(inner, (*rest,), new) if name == first else inner for name, inner in value.items()}


def control_characters(text: str) -> list[str]:
    """Returns the characters that control a terminal or the direction of text, except tabs and ends of lines."""
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
