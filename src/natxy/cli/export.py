# SPDX-License-Identifier: Apache-2.0
"""`natxy export`: writes a run for other programs."""

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
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    form: Annotated[ExportFormat, typer.Option("--format", help="The format to write.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; default: standard output.", show_default=False)
    ] = None,
) -> None:
    """Write a run for other programs.

    csv and parquet have a row for each trial; json has everything that is stored.
    """
    with reported_errors():
        run = RunReader(folder).run
        if output is None:
            if form is ExportFormat.PARQUET and sys.stdout.isatty():
                raise PlanError("Parquet is binary and cannot be printed on a terminal; give --output FILE")
            write(run, form, sys.stdout.buffer)
            return
        try:
            with whole_file(output) as file:
                write(run, form, file)
        except OSError as error:
            raise PlanError(f"{output} cannot be written: {error.strerror}") from error
