# SPDX-License-Identifier: Apache-2.0
"""`natxy bundle`: packs a run into one file for publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import PlanError
from natxy.terminal.console import echo
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import runs
from natxy.untrusted.texts import file_name


def bundle(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run.", autocompletion=runs, show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write; default: RUN.zip beside the folder.", show_default=False),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY",
            help="Sign with this ssh key, or the one of an agent whose public key it is.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Pack a run into one zip file for publication.

    The file contains the plan, the database, tables as CSV, the report, all versions, and the hashes of these files,
    which `natxy verify` checks, as it checks who signed them. The plan is published as it is, including names of
    machines and commands.
    """
    from natxy.bundle.contents import SUMS_FILE, files_of, sums
    from natxy.bundle.file import write_zip
    from natxy.bundle.signature import SIGNATURE_FILE
    from natxy.bundle.signature import sign as sign_text
    from natxy.cli.output.file import output_file
    from natxy.results.reader import RunReader
    from natxy.untrusted.values import utc

    with reported_errors():
        run = RunReader(folder, trials=False)
        name = file_name(run.folder.resolve().name)
        target = output or run.folder.resolve().parent / f"{name}.zip"
        try:
            files = files_of(run.folder)
        except OSError as error:
            raise PlanError(f"{run.folder} cannot be read: {error.strerror}") from error
        hashes = sums(files).encode()
        files |= {SUMS_FILE: hashes} | ({SIGNATURE_FILE: sign_text(hashes, sign)} if sign else {})
        with output_file(target) as out:
            write_zip(out, name, files, utc(run.run.started_at))
        echo(f"{target}\n")
