# SPDX-License-Identifier: Apache-2.0
"""Finds the runs that `natxy export` writes, and the format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from natxy.errors import PlanError
from natxy.export import ExportFormat
from natxy.history.finding import run_folders
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.terminal.errors import warn


def by_ending(output: Path | None) -> ExportFormat:
    ending = output.suffix.removeprefix(".") if output else ""
    if ending not in [*ExportFormat]:
        raise PlanError(
            f"expected --format, or an --output that ends with {', '.join(f'.{form}' for form in ExportFormat)}"
        )
    return ExportFormat(ending)


def runs_in(folders: Sequence[Path]) -> Iterator[tuple[str, RunRecord]]:
    for folder in folders:
        if os.path.isfile(folder) or os.path.isfile(folder / RESULTS_FILE) or not os.path.isdir(folder):
            yield str(folder), RunReader(folder).run
        else:
            yield from _within(folder)


def _within(folder: Path) -> Iterator[tuple[str, RunRecord]]:
    """Yields the runs in a folder. PlanError when there are none."""
    count = 0
    for path in run_folders([folder], lambda error: warn(f"{error.filename}: {error.strerror}")):
        try:
            run = RunReader(Path(path)).run
        except (PlanError, OSError) as error:
            warn(f"left out: {error}")
            continue
        count += 1
        yield path, run
    if not count:
        raise PlanError(f"{folder} is not a run folder and holds none; give folders that `natxy run` printed")
