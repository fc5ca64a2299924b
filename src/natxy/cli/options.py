# SPDX-License-Identifier: Apache-2.0
"""Declares the options of verbs that measure."""

from __future__ import annotations

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
