# SPDX-License-Identifier: Apache-2.0
"""Reads the records of a run from its folder."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.results import RESULTS_FILE
from natxy.results.database.rows import StoredExperiment, StoredRun, StoredSession
from natxy.results.database.schema import SCHEMA, check_schema, from_row
from natxy.results.database.snapshot import in_memory, snapshot
from natxy.results.database.untrusted import UntrustedDatabase, columns, refuse_code, sorts_by_id
from natxy.results.planned import planned_experiment
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState, State
from natxy.results.store import KILLED
from natxy.results.trials import TransferRecord, TrialRecord
from natxy.system.machine import LoadOfRun
from natxy.system.process_owner import Owner
from natxy.untrusted.validation import guess_path
from natxy.untrusted.values import utc

# A line of the resolved plan; to parse the whole plan takes longer than to read the run.
_IN_BLOCKS: Final = re.compile(r"^order: blocks$", re.MULTILINE)


class RunReader:
    """Reads a run from its folder or its results.sqlite. PlanError when there is no readable run.

    Everything is read as it was at one moment: `run` does not change when the run goes on. Without `trials`,
    repetitions have no trials, no transfers and no curves, and reading takes a small part of the time.
    """

    def __init__(self, path: Path | str, *, trials: bool = True) -> None:
        path = Path(path)
        # Unlike pathlib's methods, these return False for a folder that may not be entered.
        file = path / RESULTS_FILE if os.path.isdir(path) else path
        self.folder = file.parent
        if not os.path.isfile(file):
            lacks = f"is not a run folder: it has no {RESULTS_FILE}."
            why = lacks if os.path.lexists(path) else f"does not exist{guess_path(path) or '.'}"
            raise PlanError(f"{path} {why} Give the folder that `natxy run` printed.")
        self._read(file, snapshot(file), trials)

    @classmethod
    def of_bytes(cls, content: bytes) -> RunReader:
        """Reads a run from the content of its database. It has no folder."""
        reader = cls.__new__(cls)
        # No file can be in it.
        reader.folder = Path(os.devnull)
        reader._read(Path(RESULTS_FILE), in_memory(content), trials=True)
        return reader

    def _read(self, file: Path, opened: AbstractContextManager[UntrustedDatabase], trials: bool) -> None:
        try:
            with opened as db:
                _check_begun(db, file)
                check_schema(db, file)
                _check_columns(db)
                self.run: RunRecord = _read_run(db, trials)
        except (sqlite3.DatabaseError, LookupError, ValueError) as error:
            raise PlanError(
                f"{file} cannot be read: it is no run of this version of natxy; read it with the version that wrote "
                f"it, or measure again with the plan.yaml beside it. What does not fit: {error}"
            ) from error

    def experiment(self, name: str) -> ExperimentRecord:
        """Returns the experiment of this name. KeyError when the run has none."""
        for experiment in self.run.experiments:
            if experiment.name == name:
                return experiment
        raise KeyError(name)


def run_if_any(folder: str) -> RunRecord | None:
    """Returns the run in a folder; None if there is none that can be read."""
    try:
        return RunReader(Path(folder)).run
    except PlanError:
        return None


def _check_begun(db: sqlite3.Connection, file: Path) -> None:
    """Raises PlanError when `RunStore` created tables, but no run."""
    tables = _tables(db)
    if not tables or ("run" in tables and db.execute("SELECT 1 FROM run").fetchone() is None):
        raise PlanError(
            f"{file} holds no run yet: a natxy is just starting one, or ended before it measured anything, as on a "
            f"full disk; if none is, remove {file.parent} and run the plan again"
        )


def _check_columns(db: sqlite3.Connection) -> None:
    """Raises LookupError unless the columns are those of the schema, sqlite3.DatabaseError without a table of runs."""
    (written_by,) = db.execute("SELECT max(natxy_version) FROM run").fetchone()
    found = _columns(db)
    if unsorted := [table for table in _tables(db) if not sorts_by_id(db, table)]:
        raise LookupError(f"{unsorted[0]}.id is no integer primary key")
    if different := sorted(_known_columns() ^ found):
        raise LookupError(f"natxy {written_by} wrote it and had other columns: {', '.join(different)}")


@cache
def _known_columns() -> frozenset[str]:
    with closing(sqlite3.connect(":memory:")) as written_now:
        written_now.executescript(SCHEMA)
        return frozenset(_columns(written_now))


def _tables(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def _columns(db: sqlite3.Connection) -> set[str]:
    return {f"{table}.{column}" for table in _tables(db) for column in columns(db, table)}


def _read_run(db: sqlite3.Connection, trials: bool) -> RunRecord:
    # Asked before the state is read, which a run records before its process ends.
    (owner,) = db.execute("SELECT owner FROM run").fetchone()
    try:
        is_alive = Owner.parse(str(owner)).is_alive()
    except ValueError as error:
        raise ValueError("run.owner: expected the process that measured, its number and its start") from error
    db.execute("COMMIT")
    db.execute("BEGIN")
    # Another process may have changed the schema meanwhile.
    refuse_code(db, Path(RESULTS_FILE))
    run = from_row(StoredRun, "run", db.execute("SELECT * FROM run").fetchone())
    sessions = [from_row(StoredSession, "session", each) for each in db.execute("SELECT * FROM session ORDER BY id")]
    state, in_blocks = run.state, _IN_BLOCKS.search(run.plan_yaml) is not None
    rows = db.execute("SELECT * FROM experiment ORDER BY id").fetchall()
    experiments = [_read_experiment(db, each, trials=trials, in_blocks=in_blocks) for each in rows]
    if state == RunState.RUNNING and run.owner == owner and not is_alive:
        state = RunState.DIED
        experiments = [_ended(experiment) for experiment in experiments]
    return RunRecord(
        id=run.id,
        name=run.name,
        started_at=run.started_at,
        finished_at=run.finished_at,
        active_s=sum(map(_lasted_s, sessions)),
        load=LoadOfRun(sessions=tuple((each.load_before, each.load_after) for each in sessions)),
        state=state,
        plan_yaml=run.plan_yaml,
        seed=run.seed,
        natxy_version=run.natxy_version,
        engine=run.engine_info,
        testbed=run.testbed,
        caveats=run.caveats,
        machine=run.machine,
        tester=run.tester,
        self_test=run.self_test,
        experiments=_linked(experiments),
    )


def _lasted_s(session: StoredSession) -> float:
    """Returns the length of a session. Its timestamps count only if it has nothing better: a clock may have been set
    meanwhile."""
    began, ended = session.load_before.monotonic_s, session.load_after.monotonic_s
    if began is not None and ended is not None:
        return max(0.0, ended - began)
    return max(0.0, (utc(session.ended_at) - utc(session.started_at)).total_seconds())


def _ended(experiment: ExperimentRecord) -> ExperimentRecord:
    """Returns an experiment of a run that died, with what was running as interrupted."""
    repetitions = [
        replace(repetition, state=State.INTERRUPTED, reason=KILLED) if repetition.state == State.RUNNING else repetition
        for repetition in experiment.repetitions
    ]
    if experiment.state != State.RUNNING:
        return replace(experiment, repetitions=repetitions)
    return replace(experiment, state=State.INTERRUPTED, reason=KILLED, repetitions=repetitions)


def _linked(experiments: list[ExperimentRecord]) -> list[ExperimentRecord]:
    """Returns the experiments with references to the experiments that they name."""
    by_name = {experiment.name: experiment for experiment in experiments}
    return [
        replace(
            experiment,
            baseline=by_name.get(experiment.planned.baseline or ""),
            rate_sources={
                setting: by_name[rate.experiment]
                for setting, rate in experiment.planned.known_rates.items()
                if rate.experiment in by_name
            },
        )
        for experiment in experiments
    ]


@lru_cache(maxsize=64)
def _planned(settings_json: str) -> Experiment:
    """Returns an experiment as it was planned. The runs of a plan have the same."""
    return planned_experiment(json.loads(settings_json))


def _read_experiment(db: sqlite3.Connection, row: sqlite3.Row, *, trials: bool, in_blocks: bool) -> ExperimentRecord:
    experiment = from_row(StoredExperiment, "experiment", row)
    try:
        planned = _planned(row["settings_json"])
    except ValueError as error:
        raise ValueError(f"experiment {experiment.id}.settings_json: {error}") from error
    repetitions = db.execute("SELECT * FROM repetition WHERE experiment_id = ?", (experiment.id,)).fetchall()
    return ExperimentRecord(
        id=experiment.id,
        planned=planned,
        state=experiment.state,
        reason=experiment.reason,
        duts=experiment.duts,
        # SQLite would sort whole rows in temporary files, before their bytes are counted.
        repetitions=sorted((_read_repetition(db, each, trials) for each in repetitions), key=lambda each: each.number),
        in_blocks=in_blocks,
    )


def _read_repetition(db: sqlite3.Connection, row: sqlite3.Row, trials: bool) -> RepetitionRecord:
    if not trials:
        return from_row(RepetitionRecord, "repetition", row, curves=(), trials=[], transfers=[])
    own = {
        name: db.execute(f"SELECT * FROM {name} WHERE repetition_id = ? ORDER BY id", (row["id"],)).fetchall()
        for name in ("trial", "transfer")
    }
    return from_row(
        RepetitionRecord,
        "repetition",
        row,
        trials=[from_row(TrialRecord, "trial", trial) for trial in own["trial"]],
        transfers=[from_row(TransferRecord, "transfer", transfer) for transfer in own["transfer"]],
    )
