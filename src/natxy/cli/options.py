# SPDX-License-Identifier: Apache-2.0
"""Declares the options of verbs that measure."""

from __future__ import annotations

from typing import Annotated

import typer

EventsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write what happens into a new file or a pipe, as lines of JSON; `-` is standard output, and all "
        "else then goes to standard error.",
        show_default=False,
    ),
]
BeforeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="Run a command first, when nobody else measures with the same cores, ports or gateway; may be repeated.",
        show_default=False,
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Offer the run to Prometheus while it measures, on the loopback interface unless HOST is given; 0 is any "
        "free port.",
        show_default=False,
    ),
]
