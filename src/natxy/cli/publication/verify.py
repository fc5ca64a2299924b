# SPDX-License-Identifier: Apache-2.0
"""`natxy verify`: checks a bundle that somebody published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.terminal.console import echo
from natxy.terminal.errors import reported_errors

_NOT_COMPARED: Final = 3


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A zip file of `natxy bundle`, or its folder.", show_default=False)
    ],
    allowed_signers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Demand a signature by one of these, a file as of ssh-keygen(1).", show_default=False
        ),
    ] = None,
) -> None:
    """Check a bundle that somebody published.

    It has to be complete and unchanged, and its tables and report have to follow from its trials. A signature tells who
    made it. The check cannot tell whether the trials were made up.

    Exit code 2 if something was changed or no allowed signer has signed, 3 if other versions made tables and report,
    which were not compared.
    """
    from natxy.bundle.verification import verify as verify_bundle
    from natxy.cli.bodies.verify import lines

    with reported_errors():
        found = verify_bundle(path, allowed_signers)
        echo("".join(f"{line}\n" for line in lines(found)))
        if not found.computed_again:
            raise typer.Exit(_NOT_COMPARED)
