# SPDX-License-Identifier: Apache-2.0
"""Finds the runs in folders and reads them, those that did not change from the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from natxy.errors import PlanError
from natxy.history.index import Index, fingerprint, from_text
from natxy.history.past import PastRun, past_run
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunState


@dataclass(frozen=True)
class LeftOut:
    """Holds a folder that is not in the history, and the reason."""

    folder: str
    reason: str


@dataclass(frozen=True)
class Found:
    """Holds the runs in the order of their beginnings, and what was left out."""

    runs: tuple[PastRun, ...]
    left_out: tuple[LeftOut, ...]


def find(folders: Sequence[Path], index: Index) -> Found:
    """Reads the runs in the folders and all folders within them. PlanError when a folder does not exist."""
    for given in folders:
        if not given.exists():
            raise PlanError(f"{given} does not exist; give folders that hold the folders of runs, such as runs")
    left_out: list[LeftOut] = []
    known = index.known()
    fresh: list[tuple[str, str, PastRun]] = []
    runs: dict[str, PastRun] = {}
    for folder in run_folders(folders, lambda error: left_out.append(_left_out(error.filename, error))):
        path = os.path.realpath(folder)
        if path in runs:
            continue
        file = Path(path) / RESULTS_FILE
        try:
            mark = fingerprint(file)
            kept = known.get(path)
            run = from_text(kept[1]) if kept and kept[0] == mark else None
            if run is None:
                run = past_run(folder, RunReader(file, trials=False).run)
                # The end of a process changes no file.
                if run.state is not RunState.RUNNING:
                    fresh.append((path, mark, run))
            runs[path] = replace(run, folder=folder)
        except OSError as error:
            left_out.append(_left_out(folder, error))
        except PlanError as error:
            left_out.append(LeftOut(folder, str(error)))
    index.update(fresh, [path for path in known if path not in runs and not os.path.exists(f"{path}/{RESULTS_FILE}")])
    ordered = sorted(runs.values(), key=lambda run: run.started_at)
    return Found(tuple(_without_copies(ordered, left_out)), tuple(left_out))


def _left_out(folder: str, error: OSError) -> LeftOut:
    return LeftOut(folder, error.strerror or str(error))


def run_folders(folders: Sequence[Path], unreadable: Callable[[OSError], None]) -> Iterator[str]:
    """Yields the folders that hold a run, at any depth; passes errors of others to `unreadable`."""
    for folder in folders:
        for path, inner, files in os.walk(folder, onerror=unreadable):
            inner.sort()
            if RESULTS_FILE in files:
                yield path


def _without_copies(runs: Sequence[PastRun], left_out: list[LeftOut]) -> Iterator[PastRun]:
    """Yields each run once, although a copy of its folder lies in another place."""
    seen: dict[tuple[str, str, str], str] = {}
    for run in runs:
        key = (run.name, run.started_at, run.seed)
        if key in seen:
            left_out.append(LeftOut(run.folder, f"a copy of {seen[key]}"))
            continue
        seen[key] = run.folder
        yield run
