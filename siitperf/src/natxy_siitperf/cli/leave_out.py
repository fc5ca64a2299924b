# SPDX-License-Identifier: Apache-2.0
"""`natxy leave-out`: leaves a call of siitperf's scripts out of their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.api.verbs import echo, reported_errors, runs


def leave_out_call(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder that NATXY_SIITPERF_RUN named.", autocompletion=runs, show_default=False
        ),
    ],
    experiment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The experiment; default: that of the last call.", show_default=False),
    ] = None,
    repetition: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="The repetition of the experiment.", show_default=False)
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="The step of its search; default: all of it.", show_default=False),
    ] = None,
) -> None:
    """Exclude a call of siitperf's scripts from their results.

    This is the last call, or the one that the options select. Nothing is deleted: the call moves to an experiment of
    its own, whose title begins with `left-out`. The options take the numbers of the table `Every trial` in the report.
    """
    from natxy_siitperf.recording.leaving_out import leave_out

    with reported_errors():
        left_out = leave_out(folder, experiment, repetition, step)
        echo(f"Left out: {left_out}. `natxy report {folder}` draws what is left.\n")
