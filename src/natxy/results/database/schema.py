# SPDX-License-Identifier: Apache-2.0
"""The tables of results.sqlite, and the mapping between records and their rows.

The columns of trials and transfers are the fields of their records: one that is a model of its own, such as `result`,
is stored as JSON, in `result_json`, and `id` is the row's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from natxy.errors import PlanError
from natxy.results.trials import TransferRecord, TrialRecord
from natxy.system.interrupts import serialized
from natxy.untrusted.values import from_text, problems

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

_JSON: Final = "_json"
_OWN_ID: Final = "id"
_RECORDS: Final[Mapping[str, type]] = {"trial": TrialRecord, "transfer": TransferRecord}


def to_row(record: TrialRecord | TransferRecord) -> dict[str, str | float | None]:
    """Returns the columns of a record, without its id."""
    row: dict[str, str | float | None] = {}
    kind: type = type(record)
    kinds = _kinds(kind)
    for name in (field.name for field in fields(record) if field.name != _OWN_ID):
        value = getattr(record, name)
        column = _column(name, kinds[name])
        row[column] = serialized(value) if isinstance(value, BaseModel) else value
    return row


def from_row(record: type[Record], table: str, row: sqlite3.Row, **given: Any) -> Record:
    """Returns the record in a row of `table`; `given` has the fields that are no columns of it.

    Raises ValueError, with the column and what was expected there, for a value that the record cannot hold.
    """
    values = dict(given)
    present = {*row.keys()}
    for name in (field.name for field in fields(record) if field.name not in given):
        column = f"{name}{_JSON}"
        if column in present:
            text = row[column]
            place = f"{_place(table, row)}.{column}"
            values[name] = None if text is None else from_text(_adapter_of_field(record, name), text, place)
        elif name in present:
            values[name] = row[name]
    try:
        found: Record = _adapter(record).validate_python(values)
    except ValidationError as error:
        raise ValueError(problems(error, _place(table, row))) from error
    return found


def _place(table: str, row: sqlite3.Row) -> str:
    return f"{table} {row[_OWN_ID]}"


@cache
def _adapter(record: type) -> TypeAdapter[Any]:
    return TypeAdapter(record)


@cache
def _adapter_of_field(record: type, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(record, include_extras=True)[name])


@cache
def _kinds(record: type) -> Mapping[str, type]:
    """Returns the type of each field, that of an optional one without None."""
    hints = get_type_hints(record)
    return {field.name: _without_none(hints[field.name]) for field in fields(record)}


def _without_none(hint: type) -> type:
    return next((kind for kind in get_args(hint) if kind is not NoneType), hint)


def _column(name: str, kind: type) -> str:
    return f"{name}{_JSON}" if issubclass(kind, BaseModel) else name


def _columns(record: type) -> str:
    """Returns the declarations of the columns."""
    hints = get_type_hints(record)
    declared = []
    for name, kind in _kinds(record).items():
        if name == _OWN_ID:
            continue
        stored = "INTEGER" if kind is int else "REAL" if kind is float else "TEXT"
        needed = "" if NoneType in get_args(hints[name]) else " NOT NULL"
        declared.append(f"{_column(name, kind)} {stored}{needed}")
    return ", ".join(declared)


def check_schema(db: sqlite3.Connection, file: Path) -> None:
    """Raises PlanError for a database of another schema than this version of natxy writes."""
    (number,) = db.execute("PRAGMA user_version").fetchone()
    if number == SCHEMA_NUMBER:
        return
    (written_by,) = db.execute("SELECT max(natxy_version) FROM run").fetchone()
    raise PlanError(
        f"{file} is of schema {number}, which natxy {written_by} wrote, and this natxy knows schema {SCHEMA_NUMBER}: "
        "use it with that version, or measure again with the plan.yaml beside it"
    )


SCHEMA_NUMBER: Final = 1
"""The number of the schema below. From the first release on, another schema has another number."""
SCHEMA: Final = f"""
PRAGMA user_version = {SCHEMA_NUMBER};
CREATE TABLE run (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT, state TEXT NOT NULL,
    owner TEXT NOT NULL, plan_yaml TEXT NOT NULL, seed TEXT NOT NULL, natxy_version TEXT NOT NULL,
    engine_info_json TEXT NOT NULL DEFAULT '{{}}', testbed_json TEXT NOT NULL DEFAULT '{{}}',
    caveats_json TEXT NOT NULL DEFAULT '[]', machine_json TEXT NOT NULL DEFAULT '{{}}',
    tester_json TEXT, self_test_json TEXT
) STRICT;
CREATE TABLE session (
    id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, ended_at TEXT NOT NULL,
    load_before_json TEXT NOT NULL, load_after_json TEXT NOT NULL
) STRICT;
CREATE TABLE experiment (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, gateway TEXT NOT NULL,
    procedure TEXT NOT NULL, family TEXT NOT NULL, sweep TEXT, cell_json TEXT NOT NULL,
    settings_json TEXT NOT NULL, unit TEXT NOT NULL, baseline TEXT, state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '', duts_json TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE TABLE repetition (
    id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiment(id), number INTEGER NOT NULL,
    state TEXT NOT NULL, value REAL, figures_json TEXT NOT NULL DEFAULT '{{}}', curves_json TEXT NOT NULL DEFAULT '[]',
    lower_bound REAL, upper_bound REAL, reason TEXT NOT NULL DEFAULT '', started_at TEXT NOT NULL, finished_at TEXT,
    UNIQUE (experiment_id, number)
) STRICT;
CREATE TABLE trial (
    id INTEGER PRIMARY KEY, repetition_id INTEGER NOT NULL REFERENCES repetition(id), {_columns(TrialRecord)}
) STRICT;
CREATE INDEX trial_of_repetition ON trial (repetition_id);
CREATE TABLE transfer (
    id INTEGER PRIMARY KEY, repetition_id INTEGER NOT NULL REFERENCES repetition(id), {_columns(TransferRecord)}
) STRICT;
"""
