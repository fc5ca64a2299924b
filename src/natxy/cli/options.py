# SPDX-License-Identifier: Apache-2.0
"""Declares the options that several verbs share: options of measuring, and options of judging thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EventsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the events of the run to a new file or a pipe, one JSON object a line; `-`: to standard output, "
        "and everything else to standard error.",
        show_default=False,
    ),
]
BeforeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="Run a command before the measurement, once cores, ports and gateway are free; may be repeated.",
        show_default=False,
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Serve metrics for Prometheus while the run measures; default for HOST: the loopback interface; port 0: "
        "any free one.",
        show_default=False,
    ),
]
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
