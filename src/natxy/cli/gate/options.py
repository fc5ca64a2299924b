# SPDX-License-Identifier: Apache-2.0
"""Declares the options of verbs that judge thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JUnitOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the judged thresholds as JUnit XML.", show_default=False)
]
MarkdownOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append a summary in Markdown to this file.", show_default=False)
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the judged thresholds as JSON.", show_default=False)
]
UndecidedOption = Annotated[
    int,
    typer.Option(
        min=0, max=255, metavar="CODE", help="Exit code if a threshold is undecided and none is missed.",
    ),
]  # fmt: skip
