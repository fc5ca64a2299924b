# SPDX-License-Identifier: Apache-2.0
"""`natxy verify`: checks a bundle that somebody published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.console import echo
from natxy.cli.errors import reported_errors


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A zip file of `natxy bundle`, or its folder.", show_default=False)
    ],
) -> None:
    """Check a bundle that somebody published.

    It has to be complete and unchanged, and its tables and report have to follow from its trials. The check cannot tell
    who measured, or whether the trials were made up.

    Exit code 2 if something was changed.
    """
    from natxy.bundle.verification import verify as verify_bundle
    from natxy.cli.bodies.verify import lines

    with reported_errors():
        found = verify_bundle(path)
        echo("".join(f"{line}\n" for line in lines(found)))
