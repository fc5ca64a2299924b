# SPDX-License-Identifier: Apache-2.0
"""Declares the options of verbs that judge thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import PlanError
from natxy.plan.model.expect import parse_percent
from natxy.results.analysis.gate import Limit

JUnitOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the thresholds as JUnit XML.", show_default=False)
]
MarkdownOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Add a summary in Markdown to this file.", show_default=False)
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the answers as JSON.", show_default=False)
]
UndecidedOption = Annotated[
    int,
    typer.Option(
        min=0, max=255, metavar="CODE", help="Exit code if a threshold is undecided and none is missed.",
    ),
]  # fmt: skip


def parse_limit(given: str) -> Limit:
    """Reads `5%`, `EXPERIMENT=5%` or `EXPERIMENT:FIGURE=5%`. Raises PlanError for anything else."""
    where, _, percent = given.rpartition("=")
    experiment, colon, figure = where.rpartition(":")
    if not colon:
        experiment, figure = where, ""
    try:
        return Limit(parse_percent(percent).value, experiment or "*", figure)
    except ValueError as error:
        forms = "its forms are 5%, EXPERIMENT=5% and EXPERIMENT:FIGURE=5%"
        raise PlanError(f"--fail-below {given}: {forms}; {error}") from error
