# SPDX-License-Identifier: Apache-2.0
"""`natxy export`: a run for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.errors import reported_errors
from natxy.errors import PlanError
from natxy.results.export import ExportFormat, write
from natxy.results.reader import RunReader
from natxy.system.whole_file import whole_file


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.", show_default=False)],
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option(help="The file; by default the standard output.", show_default=False)
    ] = None,
) -> None:
    """Write a run's trials, a row each (csv, parquet), or everything that is stored of it (json)."""
    with reported_errors():
        run = RunReader(folder).run
        if output is None:
            if form is ExportFormat.PARQUET and sys.stdout.isatty():
                raise PlanError("Parquet is nothing for a terminal; give --output FILE")
            write(run, form, sys.stdout.buffer)
            return
        try:
            with whole_file(output) as file:
                write(run, form, file)
        except OSError as error:
            raise PlanError(f"{output} cannot be written: {error.strerror}") from error
