# SPDX-License-Identifier: Apache-2.0
"""`natxy verify`: checks a bundle that somebody published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.cli.console import echo
from natxy.cli.errors import reported_errors

_NOT_COMPARED: Final = 3


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A zip file of `natxy bundle`, or its folder.", show_default=False)
    ],
) -> None:
    """Check a bundle that somebody published.

    It has to be complete and unchanged, and its tables and report have to follow from its trials. The check cannot tell
    who measured, or whether the trials were made up.

    Exit code 2 if something was changed, 3 if other versions made tables and report, which were not compared.
    """
    from natxy.bundle.verification import verify as verify_bundle
    from natxy.cli.bodies.verify import lines

    with reported_errors():
        found = verify_bundle(path)
        echo("".join(f"{line}\n" for line in lines(found)))
        if not found.computed_again:
            raise typer.Exit(_NOT_COMPARED)
