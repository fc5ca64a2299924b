# SPDX-License-Identifier: Apache-2.0
"""Reads databases of earlier schemas: a copy in memory gets what is missing, and the file stays as it is.

A schema has a number, which a database has in its `user_version`. The first eleven had none in the file, and are known
by their columns. A new schema adds a step here.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import Any, Final

from pydantic import TypeAdapter

from natxy.errors import PlanError
from natxy.plan.caveats import Caveat, departure, limitation, own_rule
from natxy.plan.procedures import ProcedureConfig
from natxy.results.database.schema import SCHEMA, SCHEMA_NUMBER
from natxy.results.database.untrusted import UntrustedDatabase, columns

_PROCEDURE: Final[TypeAdapter[Any]] = TypeAdapter(ProcedureConfig)
# A process that never runs: that of a run whose database does not name one has ended.
_NOBODY: Final = "0-0"
_FORMER_SETTINGS: Final = {"size_convention": "paired", "ttl": 64, "dont_fragment": False}
_FORMER_MAX_INVALID: Final = 3
_FORMER_RULE: Final = "natxy's own rule: "
# What the RFC asked for was in the sentence. A title may name an RFC too.
_FORMER_DEPARTURE: Final = re.compile(r"RFC \d+ §|; RFC \d+ asks")
# Of a session whose load nobody noted.
_NO_LOAD: Final = '{"minute": 0, "all_ticks": 0, "stolen_ticks": null}'


@contextmanager
def in_present_schema(db: UntrustedDatabase) -> Iterator[UntrustedDatabase]:
    """Yields `db` or, if it is of an earlier schema, a migrated copy of what its present transaction sees.

    Raises PlanError for a later schema than this version of natxy knows.
    """
    number = schema_number(db)
    if number > SCHEMA_NUMBER:
        (written_by,) = db.execute("SELECT max(natxy_version) FROM run").fetchone()
        raise PlanError(
            f"natxy {written_by} wrote these results by schema {number}, and this natxy knows schemas up to "
            f"{SCHEMA_NUMBER}: read them with that version, or a later one"
        )
    if number == SCHEMA_NUMBER:
        yield db
        return
    with closing(UntrustedDatabase(":memory:", db.size)) as copy, copy.bounded():
        copy.execute("PRAGMA trusted_schema = OFF")
        copy.execute("PRAGMA ignore_check_constraints = ON")
        db.backup(copy)
        for step in _STEPS[number:]:
            step(copy)
        copy.forbid_all_but_reading()
        copy.execute("BEGIN")
        yield copy


def schema_number(db: sqlite3.Connection) -> int:
    """Returns the number of the database's schema."""
    (stated,) = db.execute("PRAGMA user_version").fetchone()
    if stated > 0:
        return int(stated)
    known = [number for number, (table, column) in _MARKS.items() if column in columns(db, table)]
    return max(known, default=SCHEMA_NUMBER)


# A column that a schema added to those before it.
_MARKS: Final = {
    1: ("repetition", "value"),
    2: ("repetition", "figures_json"),
    3: ("run", "owner"),
    4: ("experiment", "sweep"),
    5: ("session", "started_at"),
    6: ("run", "tester_json"),
    7: ("transfer", "goodput_bps"),
    8: ("trial", "gateway_pause_s"),
    9: ("session", "load_before_json"),
    10: ("trial", "disturbance"),
    11: ("trial", "dut_load_json"),
}


def _add_figures(db: sqlite3.Connection) -> None:
    """Gives each repetition its headline as the only figure."""
    db.execute("ALTER TABLE repetition ADD COLUMN figures_json TEXT NOT NULL DEFAULT '{}'")
    db.execute("ALTER TABLE repetition ADD COLUMN curves_json TEXT NOT NULL DEFAULT '[]'")
    for experiment, procedure in db.execute("SELECT id, procedure FROM experiment").fetchall():
        headline = _PROCEDURE.validate_python({"name": procedure}).headline().name
        db.execute(
            "UPDATE repetition SET figures_json = json_object(?, value) WHERE experiment_id = ?", (headline, experiment)
        )


def _add_owner(db: sqlite3.Connection) -> None:
    db.execute(f"ALTER TABLE run ADD COLUMN owner TEXT NOT NULL DEFAULT '{_NOBODY}'")


def _add_sweep(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE experiment ADD COLUMN sweep TEXT")


def _add_sessions(db: sqlite3.Connection) -> None:
    """Adds one session, from the beginning of the run to its end or that of its last repetition."""
    db.execute("CREATE TABLE session (id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, ended_at TEXT NOT NULL) STRICT")
    db.execute(
        "INSERT INTO session (started_at, ended_at) SELECT started_at, coalesce(finished_at, "
        "(SELECT max(started_at) FROM repetition), started_at) FROM run"
    )


def _add_self_test(db: sqlite3.Connection) -> None:
    for column in ("tester_json", "self_test_json"):
        db.execute(f"ALTER TABLE run ADD COLUMN {column} TEXT")


def _add_transfers(db: sqlite3.Connection) -> None:
    """Adds the tests between hosts, and the settings that every experiment has since then, as they were in force."""
    for experiment, text in db.execute("SELECT id, settings_json FROM experiment").fetchall():
        settings = json.loads(text)
        if not isinstance(settings, dict):
            raise ValueError(f"experiment {experiment}.settings_json: expected a mapping")
        search = settings.get("search")
        of_search = search.get("max_invalid") if isinstance(search, dict) else None
        complete = {**_FORMER_SETTINGS, "max_invalid": of_search or _FORMER_MAX_INVALID, **settings}
        db.execute("UPDATE experiment SET settings_json = ? WHERE id = ?", (json.dumps(complete), experiment))
    (declared,) = (statement for statement in SCHEMA.split(";") if "CREATE TABLE transfer" in statement)
    db.execute(declared)


def _add_pauses(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE trial ADD COLUMN gateway_pause_s REAL")


def _add_loads(db: sqlite3.Connection) -> None:
    for column in ("load_before_json", "load_after_json"):
        db.execute(f"ALTER TABLE session ADD COLUMN {column} TEXT NOT NULL DEFAULT '{_NO_LOAD}'")


def _add_disturbances(db: sqlite3.Connection) -> None:
    """Adds what is known of the gateway's core, with a schema between that had a part of it."""
    there = columns(db, "trial")
    for column, kind in (("gateway_stolen_s", "REAL"), ("gateway_delayed_s", "REAL"), ("disturbance", "TEXT")):
        if column not in there:
            db.execute(f"ALTER TABLE trial ADD COLUMN {column} {kind}")


def _add_dut_load(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE trial ADD COLUMN dut_load_json TEXT")


def _add_dut_counts(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE trial ADD COLUMN dut_counts_json TEXT")


def _add_kinds_of_caveats(db: sqlite3.Connection) -> None:
    """Gives each sentence on how a run was measured its kind, which before only its words told."""
    db.execute("ALTER TABLE run RENAME COLUMN deviations_json TO caveats_json")
    for run, text in db.execute("SELECT id, caveats_json FROM run").fetchall():
        sentences = json.loads(text)
        if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
            raise ValueError(f"run {run}.deviations_json: expected a list of texts")
        caveats = [asdict(_former_caveat(sentence)) for sentence in sentences]
        db.execute("UPDATE run SET caveats_json = ? WHERE id = ?", (json.dumps(caveats), run))


def _former_caveat(sentence: str) -> Caveat:
    rule = sentence.removeprefix(_FORMER_RULE)
    if rule != sentence:
        return own_rule(rule[:1].upper() + rule[1:])
    return departure(sentence) if _FORMER_DEPARTURE.search(sentence) else limitation(sentence)


# The step at index n leads from schema n to schema n + 1.
_STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (
    lambda _: None,
    _add_figures,
    _add_owner,
    _add_sweep,
    _add_sessions,
    _add_self_test,
    _add_transfers,
    _add_pauses,
    _add_loads,
    _add_disturbances,
    _add_dut_load,
    # `reordered` may be null since then, which no row of before is.
    lambda _: None,
    _add_kinds_of_caveats,
    _add_dut_counts,
)
