# SPDX-License-Identifier: Apache-2.0
"""`natxy export`: writes runs for other programs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.completion import runs
from natxy.cli.errors import reported_errors, warn
from natxy.cli.output.file import is_stream, output_file
from natxy.errors import PlanError
from natxy.history.finding import run_folders
from natxy.results.export import ExportFormat, write
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.results.store import RESULTS_FILE


def export(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="The folders of runs, or folders that hold some.",
            autocompletion=runs,
            show_default=False,
        ),
    ],
    form: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="The format to write; default: by the ending of FILE.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; default: standard output.", show_default=False)
    ] = None,
) -> None:
    """Write runs for other programs, all into one file.

    csv and parquet have a row for each trial; json has everything that is stored, for several runs as a list. In a
    folder of runs, what cannot be read is left out with a warning.
    """
    with reported_errors():
        chosen = form or _by_ending(output)
        if output is None:
            if chosen is ExportFormat.PARQUET and sys.stdout.isatty():
                raise PlanError("Parquet is binary and cannot be printed on a terminal; give --output FILE")
            with tempfile.TemporaryFile() as waiting:
                write(_runs(folders), chosen, sys.stdout.buffer, waiting)
            return
        # The temporary file needs about as much room as the output.
        room = None if is_stream(output) else output.parent
        with output_file(output) as file, tempfile.TemporaryFile(dir=room) as waiting:
            write(_runs(folders), chosen, file, waiting)


def _by_ending(output: Path | None) -> ExportFormat:
    ending = output.suffix.removeprefix(".") if output else ""
    if ending not in [*ExportFormat]:
        raise PlanError(
            f"expected --format, or an --output that ends with {', '.join(f'.{form}' for form in ExportFormat)}"
        )
    return ExportFormat(ending)


def _runs(folders: Sequence[Path]) -> Iterator[tuple[str, RunRecord]]:
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
