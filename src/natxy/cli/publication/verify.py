# SPDX-License-Identifier: Apache-2.0
"""`natxy verify`: checks a bundle that somebody published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from natxy.bundle.contents import computing_versions
from natxy.bundle.verification import Verified
from natxy.bundle.verification import verify as verify_bundle
from natxy.cli.console import echo
from natxy.cli.errors import reported_errors
from natxy.report.words.states import run_state
from natxy.untrusted.texts import plain


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A zip file of `natxy bundle`, or its folder.", show_default=False)
    ],
) -> None:
    """Check that a bundle is whole, and that its tables and its report follow from what was recorded.

    It cannot tell who measured, or whether somebody made up the recorded trials.

    Exit code 2 if something was changed.
    """
    with reported_errors():
        found = verify_bundle(path)
        echo("".join(f"{line}\n" for line in _lines(found)))


def _lines(found: Verified) -> list[str]:
    run = found.run
    again = (
        "computed again from its database: the same"
        if found.computed_again
        else f"not computed again: made with {_listed(found.computed_with)}; here is {_listed(computing_versions())}"
    )
    return [
        f"{plain(run.name)}: {run_state(run)}, begun {plain(run.started_at)}, natxy {plain(run.natxy_version)}, "
        f"seed {run.seed}",
        f"{found.file_count} files: as they were made",
        f"Report, tables, plan and conditions: {again}",
    ]


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{plain(name)} {plain(version)}" for name, version in versions.items())
