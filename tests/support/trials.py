# SPDX-License-Identifier: Apache-2.0
"""Reads the stored trials of a run, to compare them before and after it was killed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader


class Kept(NamedTuple):
    """Identifies a trial and the time of its measurement."""

    experiment: str
    repetition: int
    step: int
    attempt: int
    kind: str
    started_at: str


def kept_trials(folder: Path) -> list[Kept]:
    return [
        Kept(experiment.name, repetition.number, trial.number, trial.attempt, trial.kind, trial.started_at)
        for experiment in RunReader(folder).run.experiments
        for repetition in experiment.repetitions
        for trial in repetition.trials
    ]


def begun(folder: Path) -> bool:
    try:
        return bool(sqlite3.connect(folder / RESULTS_FILE).execute("SELECT * FROM run").fetchone())
    except sqlite3.Error:
        return False
