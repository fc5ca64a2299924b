# SPDX-License-Identifier: Apache-2.0
"""Writes the results.sqlite of a run.

Every statement commits at once, so that a killed run keeps all that it measured. With WAL the results can be read
while the run goes on.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from natxy.engine.messages.results import Verdict
from natxy.errors import PlanError
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.results.curves import CURVES, Curve
from natxy.results.database.schema import SCHEMA, check_schema, from_row, to_row
from natxy.results.database.untrusted import refuse_code
from natxy.results.planned import settings_of
from natxy.results.records import RunState, State
from natxy.results.selftest import SelfTest, TesterIdentity
from natxy.results.trials import Purpose, TransferRecord, TrialRecord
from natxy.system.interrupts import serialized
from natxy.system.machine import MachineLoad
from natxy.system.process_owner import Owner

KILLED: Final = "natxy was killed"
"""The reason stored with experiments and repetitions that were running when their process ended."""

# The kernel takes a millisecond for the load of hundreds of cores, as long as a short trial.
_LOAD_S: Final = 0.5


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Step(NamedTuple):
    """Names a step of a search; one whose preparation failed is invalid."""

    number: int
    rate: float
    verdict: Verdict


def _check_resumable(db: sqlite3.Connection, path: Path) -> None:
    refuse_code(db, path)
    check_schema(db, path)


class RunStore:
    """Writes one run. `path` must not exist; with `resume` it must be the file of the run to go on with.

    Raises PlanError when it is a link, or a run of another schema.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        if path.is_symlink():
            raise PlanError(f"{path} is a link; resume the run in the folder that it leads to")
        if path.exists() != resume:
            raise FileNotFoundError(path) if resume else FileExistsError(path)
        self._load_at, self._load_json = -math.inf, ""
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            if resume:
                _check_resumable(self._db, path)
        except BaseException:
            self._db.close()
            raise
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if not resume:
            self._db.executescript(SCHEMA)

    @staticmethod
    def has_run(path: Path) -> bool:
        """Returns False for a file whose writer was killed before it began the run."""
        with closing(sqlite3.connect(path)) as db:
            refuse_code(db, path)
            tables = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchone()
            return tables is not None and db.execute("SELECT 1 FROM run").fetchone() is not None

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Commits everything that is written in the context at once."""
        self._db.execute("BEGIN")
        yield
        self._db.execute("COMMIT")

    # --- run

    def start_run(
        self,
        *,
        name: str,
        plan_yaml: str,
        seed: int,
        natxy_version: str,
        machine: Mapping[str, str],
        caveats: Sequence[Caveat] = (),
        began: MachineLoad | None = None,
    ) -> None:
        """Begins a run, with a session that is under way since `began`, or since now."""
        self._insert(
            "run",
            name=name,
            started_at=timestamp(),
            state=RunState.RUNNING,
            owner=str(Owner.current()),
            plan_yaml=plan_yaml,
            seed=str(seed),  # SQLite's integers end at 2^63
            natxy_version=natxy_version,
            machine_json=json.dumps(dict(machine)),
            caveats_json=json.dumps([*map(asdict, caveats)]),
        )
        self._start_session(began)

    def describe_tester(
        self, *, engine: Mapping[str, Any], testbed: Mapping[str, str], caveats: Sequence[Caveat]
    ) -> None:
        """Adds to an earlier description: a run may have experiments with the engine and others between hosts.

        Caveats of the testbed come before those of the plan.
        """
        row = self._db.execute("SELECT engine_info_json, testbed_json, caveats_json FROM run").fetchone()
        before_engine, before_testbed, before_caveats = map(json.loads, row)
        first = [*map(asdict, caveats)]
        described = (
            {**before_engine, **engine},
            {**before_testbed, **testbed},
            first + [caveat for caveat in before_caveats if caveat not in first],
        )
        self._db.execute(
            "UPDATE run SET engine_info_json = ?, testbed_json = ?, caveats_json = ?", [*map(json.dumps, described)]
        )

    def set_self_test(self, tester: TesterIdentity, found: SelfTest | None) -> None:
        """Stores the tester, and its self-test if one was made before the run."""
        self._db.execute(
            "UPDATE run SET tester_json = ?, self_test_json = ?",
            (serialized(tester), serialized(found) if found else None),
        )

    def resume_run(self, began: MachineLoad | None = None) -> None:
        """Reopens the run, with a session as of `start_run`. What a killed one was measuring becomes interrupted."""
        for table in ("experiment", "repetition"):
            self._db.execute(
                f"UPDATE {table} SET state = ?, reason = ? WHERE state = ?",
                (State.INTERRUPTED, KILLED, State.RUNNING),
            )
        owner = str(Owner.current())
        self._db.execute("UPDATE run SET state = ?, owner = ?, finished_at = NULL", (RunState.RUNNING, owner))
        self._start_session(began)

    def finish_run(self, state: RunState) -> None:
        self._load_at = -math.inf
        self._extend_session()
        self._db.execute("UPDATE run SET state = ?, finished_at = ?", (state, timestamp()))

    def _start_session(self, began: MachineLoad | None) -> None:
        """Adds a session: a period in which the run is under way. A resumed run has several."""
        now, load = timestamp(), MachineLoad.now()
        self._load_at, self._load_json = time.monotonic(), serialized(load)
        before = serialized(began) if began else self._load_json
        self._insert("session", started_at=now, ended_at=now, load_before_json=before, load_after_json=self._load_json)

    def _extend_session(self) -> None:
        """Moves the end of the session to now. The session of a killed run ends with the last trial stored.

        The load at the end may have been read a little earlier.
        """
        if (now := time.monotonic()) - self._load_at > _LOAD_S:
            self._load_at, self._load_json = now, serialized(MachineLoad.now())
        self._db.execute(
            "UPDATE session SET ended_at = ?, load_after_json = ? WHERE id = (SELECT max(id) FROM session)",
            (timestamp(), self._load_json),
        )

    # --- experiments

    def add_experiment(self, planned: Experiment) -> int:
        """Adds an experiment that has not begun, and returns its id."""
        return self._insert(
            "experiment",
            name=planned.name,
            title=planned.title,
            gateway=planned.gateway.title,
            procedure=planned.procedure.name,
            family=planned.family,
            sweep=planned.sweep,
            cell_json=json.dumps(planned.cell),
            settings_json=json.dumps(settings_of(planned)),
            unit=planned.unit,
            baseline=planned.baseline,
            state=State.PENDING,
        )

    def set_experiment_state(self, experiment_id: int, state: State, reason: str = "") -> None:
        self._db.execute("UPDATE experiment SET state = ?, reason = ? WHERE id = ?", (state, reason, experiment_id))

    def set_duts(self, experiment_id: int, duts: Sequence[Mapping[str, Any]]) -> None:
        """Stores the descriptions of the gateways, from left to right."""
        described = json.dumps([dict(dut) for dut in duts])
        self._db.execute("UPDATE experiment SET duts_json = ? WHERE id = ?", (described, experiment_id))

    # --- repetitions and trials

    def start_repetition(self, experiment_id: int, number: int) -> int:
        return self._insert(
            "repetition", experiment_id=experiment_id, number=number, state=State.RUNNING, started_at=timestamp()
        )

    def resume_repetition(self, repetition_id: int) -> None:
        """Reopens a repetition. Its tests between hosts are deleted, because they are measured again."""
        self._db.execute("DELETE FROM transfer WHERE repetition_id = ?", (repetition_id,))
        self._db.execute(
            "UPDATE repetition SET state = ?, reason = '', finished_at = NULL WHERE id = ?",
            (State.RUNNING, repetition_id),
        )

    def drop_trials(self, repetition_id: int, first_id: int) -> None:
        """Deletes the trial `first_id` and all later ones of the repetition, because they are measured again."""
        self._db.execute("DELETE FROM trial WHERE repetition_id = ? AND id >= ?", (repetition_id, first_id))

    def move_repetition(self, repetition_id: int, experiment_id: int, number: int) -> None:
        """Makes a repetition one of another experiment, with that number."""
        self._db.execute(
            "UPDATE repetition SET experiment_id = ?, number = ? WHERE id = ?", (experiment_id, number, repetition_id)
        )

    def move_step(self, repetition_id: int, number: int, to_id: int) -> None:
        """Makes a step of a search one of another repetition."""
        self._db.execute(
            "UPDATE trial SET repetition_id = ? WHERE repetition_id = ? AND number = ?", (to_id, repetition_id, number)
        )

    def remove_experiment(self, experiment_id: int) -> None:
        """Removes an experiment that has no repetitions."""
        self._db.execute("DELETE FROM experiment WHERE id = ?", (experiment_id,))

    def finish_repetition(
        self,
        repetition_id: int,
        state: State,
        *,
        value: float | None = None,
        figures: Mapping[str, float | None] | None = None,
        curves: tuple[Curve, ...] = (),
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        reason: str = "",
    ) -> None:
        """Stores the result of a repetition. `value` is the headline, which is also one of the `figures`."""
        figures_json, curves_json = json.dumps(dict(figures or {})), serialized(curves, CURVES)
        self._db.execute(
            "UPDATE repetition SET state = ?, value = ?, figures_json = ?, curves_json = ?, lower_bound = ?, "
            "upper_bound = ?, reason = ?, finished_at = ? WHERE id = ?",
            (state, value, figures_json, curves_json, lower_bound, upper_bound, reason, timestamp(), repetition_id),
        )

    def add_trial(self, repetition_id: int, trial: TrialRecord) -> int:
        """Adds a trial and returns its id. Samples of foreign frames are left out: foreign.pcap has the frames."""
        self._extend_session()
        stored = replace(trial, result=trial.result.model_copy(update={"samples": []}))
        return self._insert("trial", repetition_id=repetition_id, **to_row(stored))

    def trials(self, repetition_id: int) -> list[TrialRecord]:
        """Returns the stored trials of a repetition, in their order."""
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        rows = cursor.execute("SELECT * FROM trial WHERE repetition_id = ? ORDER BY id", (repetition_id,))
        return [from_row(TrialRecord, "trial", row) for row in rows]

    def steps(self, repetition_id: int) -> list[Step]:
        """Returns the rate and the verdict of each step of a repetition, that of its last trial."""
        rows = self._db.execute(
            "SELECT number, step_rate, verdict, purpose FROM trial WHERE id IN "
            "(SELECT max(id) FROM trial WHERE repetition_id = ? GROUP BY number) ORDER BY number",
            (repetition_id,),
        )
        return [
            Step(number, rate, Verdict.INVALID if purpose == Purpose.PREPARE else Verdict(verdict))
            for number, rate, verdict, purpose in rows
        ]

    def curves(self, repetition_id: int) -> tuple[Curve, ...]:
        """Returns the curves that `finish_repetition` has stored."""
        (stored,) = self._db.execute("SELECT curves_json FROM repetition WHERE id = ?", (repetition_id,)).fetchone()
        return CURVES.validate_json(stored)

    def add_transfer(self, repetition_id: int, transfer: TransferRecord) -> None:
        """Adds one direction of a test between hosts."""
        self._extend_session()
        self._insert("transfer", repetition_id=repetition_id, **to_row(transfer))

    def _insert(self, table: str, **values: str | float | None) -> int:
        marks = ", ".join("?" for _ in values)
        cursor = self._db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()])
        assert cursor.lastrowid is not None
        return cursor.lastrowid
