# SPDX-License-Identifier: Apache-2.0
"""Reads the records of a run from its folder."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.results.curves import CURVES
from natxy.results.planned import planned_experiment
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState, State
from natxy.results.schema import SCHEMA, from_row, optional_columns
from natxy.results.selftest import SelfTest, Tester
from natxy.results.store import KILLED, RESULTS_FILE
from natxy.results.trials import TransferRecord, TrialRecord
from natxy.system.machine import LoadOfRun, MachineLoad
from natxy.system.process_owner import Owner

# A line of the resolved plan; to parse the whole plan takes longer than to read the run.
_IN_BLOCKS: Final = re.compile(r"^order: blocks$", re.MULTILINE)


class RunReader:
    """Reads a run from its folder or its results.sqlite. PlanError when there is no readable run.

    Everything is read at once: `run` does not change when the run goes on. Without `trials`, repetitions have no
    trials, no transfers and no curves, and reading takes a small part of the time.
    """

    def __init__(self, path: Path, *, trials: bool = True) -> None:
        # Unlike pathlib's methods, these return False for a folder that may not be entered.
        file = path / RESULTS_FILE if os.path.isdir(path) else path
        self.folder = file.parent
        if not os.path.isfile(file):
            why = f"is not a run folder: it has no {RESULTS_FILE}" if os.path.lexists(path) else "does not exist"
            raise PlanError(f"{path} {why}. Give the folder that `natxy run` printed.")
        try:
            with closing(_connect(file)) as db:
                _check_begun(db, file)
                _check_columns(db)
                self.run: RunRecord = _read_run(db, trials)
        except (sqlite3.DatabaseError, LookupError, ValueError) as error:
            raise PlanError(
                f"{file} is no natxy run, or another version of natxy wrote it: read it with that version, or measure "
                f"again with the plan.yaml beside it. What does not fit: {error}"
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


def _connect(file: Path) -> sqlite3.Connection:
    """Opens the database without writing to its folder if possible, so that another user's run can be read."""
    options = "mode=ro"
    if not file.with_name(file.name + "-wal").exists():
        # Without a writer SQLite does not need the files that it would create beside the database.
        options += "&immutable=1"
    db = sqlite3.connect(f"{file.resolve().as_uri()}?{options}", uri=True)
    db.row_factory = sqlite3.Row
    return db


def _check_begun(db: sqlite3.Connection, file: Path) -> None:
    """Raises PlanError when `RunStore` created tables, but no run."""
    tables = _tables(db)
    if not tables or ("run" in tables and db.execute("SELECT 1 FROM run").fetchone() is None):
        raise PlanError(
            f"{file} holds no run yet: a natxy is just starting one, or ended before it measured anything, as on a "
            f"full disk; if none is, remove {file.parent} and run the plan again"
        )


def _check_columns(db: sqlite3.Connection) -> None:
    """Raises LookupError unless the columns are those of the schema, sqlite3.DatabaseError without a table of runs.

    Columns that a record has a default for may be missing.
    """
    (written_by,) = db.execute("SELECT max(natxy_version) FROM run").fetchone()
    found = _columns(db)
    if different := sorted((_known_columns() ^ found) - (optional_columns() - found)):
        raise LookupError(f"natxy {written_by} wrote it and had other columns: {', '.join(different)}")


@cache
def _known_columns() -> frozenset[str]:
    with closing(sqlite3.connect(":memory:")) as written_now:
        written_now.executescript(SCHEMA)
        return frozenset(_columns(written_now))


def _tables(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def _columns(db: sqlite3.Connection) -> set[str]:
    columns = "SELECT ? || '.' || name FROM pragma_table_info(?)"
    return {column for table in _tables(db) for (column,) in db.execute(columns, (table, table))}


def _read_run(db: sqlite3.Connection, trials: bool) -> RunRecord:
    row = db.execute("SELECT * FROM run").fetchone()
    state = RunState(row["state"])
    in_blocks = _IN_BLOCKS.search(row["plan_yaml"]) is not None
    rows = db.execute("SELECT * FROM experiment ORDER BY id").fetchall()
    experiments = [_read_experiment(db, each, trials=trials, in_blocks=in_blocks) for each in rows]
    if state == RunState.RUNNING and not Owner.parse(row["owner"]).is_alive():
        state = RunState.DIED
        experiments = [_ended(experiment) for experiment in experiments]
    return RunRecord(
        id=row["id"],
        name=row["name"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        active_s=_active_s(db),
        load=_load(db),
        state=state,
        plan_yaml=row["plan_yaml"],
        seed=int(row["seed"]),
        natxy_version=row["natxy_version"],
        engine=json.loads(row["engine_info_json"]),
        testbed=json.loads(row["testbed_json"]),
        deviations=json.loads(row["deviations_json"]),
        machine=json.loads(row["machine_json"]),
        tester=Tester.model_validate_json(row["tester_json"]) if row["tester_json"] else None,
        self_test=SelfTest.model_validate_json(row["self_test_json"]) if row["self_test_json"] else None,
        experiments=_linked(experiments),
    )


_load_of: Final = MachineLoad.model_validate_json


def _active_s(db: sqlite3.Connection) -> float:
    return sum(map(_lasted_s, db.execute("SELECT * FROM session").fetchall()))


def _lasted_s(session: sqlite3.Row) -> float:
    """Returns the length of a session. Its timestamps count only if it has nothing better: a clock may have been set
    meanwhile."""
    began, ended = (_load_of(session[f"load_{moment}_json"]).monotonic_s for moment in ("before", "after"))
    if began is not None and ended is not None:
        return ended - began
    started, last = (datetime.fromisoformat(session[moment]) for moment in ("started_at", "ended_at"))
    return max(0.0, (last - started).total_seconds())


def _load(db: sqlite3.Connection) -> LoadOfRun:
    sessions = db.execute("SELECT load_before_json, load_after_json FROM session ORDER BY id").fetchall()
    return LoadOfRun(sessions=tuple((_load_of(before), _load_of(after)) for before, after in sessions))


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
    repetitions = db.execute("SELECT * FROM repetition WHERE experiment_id = ? ORDER BY number", (row["id"],))
    return ExperimentRecord(
        id=row["id"],
        planned=_planned(row["settings_json"]),
        state=State(row["state"]),
        reason=row["reason"],
        dut=json.loads(row["dut_json"]) if row["dut_json"] else None,
        repetitions=[_read_repetition(db, repetition, trials) for repetition in repetitions.fetchall()],
        in_blocks=in_blocks,
    )


def _read_repetition(db: sqlite3.Connection, row: sqlite3.Row, trials: bool) -> RepetitionRecord:
    record = _read_result(row)
    if not trials:
        return record
    own_trials = db.execute("SELECT * FROM trial WHERE repetition_id = ? ORDER BY id", (row["id"],))
    transfers = db.execute("SELECT * FROM transfer WHERE repetition_id = ? ORDER BY id", (row["id"],))
    return replace(
        record,
        curves=CURVES.validate_json(row["curves_json"]),
        trials=[from_row(TrialRecord, trial) for trial in own_trials],
        transfers=[from_row(TransferRecord, transfer) for transfer in transfers],
    )


def _read_result(row: sqlite3.Row) -> RepetitionRecord:
    return RepetitionRecord(
        id=row["id"],
        number=row["number"],
        state=State(row["state"]),
        value=row["value"],
        figures=json.loads(row["figures_json"]),
        curves=(),
        lower_bound=row["lower_bound"],
        upper_bound=row["upper_bound"],
        reason=row["reason"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
