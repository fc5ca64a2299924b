# SPDX-License-Identifier: Apache-2.0
"""`natxy export`: writes runs for other programs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import PlanError
from natxy.export import ExportFormat
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import runs


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
    """Write runs to one file for other programs.

    csv and parquet have a row for each trial. json has everything that is stored; several runs are a list. Runs in a
    folder that cannot be read are left out with a warning.
    """
    from natxy.cli.bodies.export import by_ending, runs_in
    from natxy.cli.output.file import is_stream, output_file
    from natxy.export.files import write

    with reported_errors():
        chosen = form or by_ending(output)
        if output is None:
            if chosen is ExportFormat.PARQUET and sys.stdout.isatty():
                raise PlanError("Parquet is binary and cannot be printed on a terminal; give --output FILE")
            with tempfile.TemporaryFile() as waiting:
                write(runs_in(folders), chosen, sys.stdout.buffer, waiting)
            return
        # The temporary file needs about as much room as the output.
        room = None if is_stream(output) else output.parent
        with output_file(output) as file, tempfile.TemporaryFile(dir=room) as waiting:
            write(runs_in(folders), chosen, file, waiting)
