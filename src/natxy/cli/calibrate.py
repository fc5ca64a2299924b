# SPDX-License-Identifier: Apache-2.0
"""`natxy calibrate`: measures the reference gateway, and compares the results with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.calibration.wiring import Wiring
from natxy.errors import TesterLimitError
from natxy.system.interrupts import one_interrupt
from natxy.terminal.console import LastingConsole, echo
from natxy.terminal.errors import reported_errors
from natxy.untrusted.texts import json_text

_BUDGET_S: Final = 300.0


def calibrate(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Measure only this procedure or row; may be repeated.", show_default=False),
    ] = None,
    wiring: Annotated[Wiring, typer.Option(help="The link of tester and gateway.")] = Wiring.MEMIF,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for the run; default: runs/calibrate-DATE-TIME.", show_default=False
        ),
    ] = None,
    budget_s: Annotated[
        float,
        typer.Option(
            "--budget",
            metavar="DURATION",
            parser=_duration,
            show_default="5 min",
            help="Time after which nothing more is measured; rows may then be disturbed or unmeasured.",
        ),
    ] = _BUDGET_S,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Check the tester on a gateway whose limits are known.

    Measure every procedure on natxy-reference, on this machine, and print each figure with its true value, its error
    and its tolerance: the uncertainty that the search, the clock and the limits of a valid trial leave. A figure that a
    pause of a core disturbed is measured again, up to three times while the budget lasts. Each figure is printed as
    soon as it is known, and all of them again at the end.

    \b
    Exit codes:
      0    every figure is within its tolerance
      3    a figure is wrong, could not be measured, or was disturbed each time
    Others are those of `natxy run`.
    """
    from natxy.calibration.calibration import WHY_NOT, Calibration
    from natxy.cli.bodies.calibrate import Watch, as_object, show
    from natxy.cli.bodies.measuring import has_results, new_folder, print_how_to_resume, show_preflight
    from natxy.run.preflight import prepared

    console = LastingConsole(stderr=as_json, soft_wrap=True)
    with reported_errors(), one_interrupt():
        calibration = Calibration.choose(wiring, only=only or ())
        plan = calibration.plan
        show_preflight(prepared(plan), console)
        folder = output or new_folder(plan.name)
        existed = has_results(folder)
        watch = Watch(calibration.cases, budget_s, console, folder)
        try:
            found = calibration.measure(folder, watch)
        except BaseException:
            if not existed and has_results(watch.folder):
                print_how_to_resume(watch.folder, console)
            raise
        if as_json:
            echo(json_text([as_object(reading) for reading in found]) + "\n")
        else:
            show(found, folder, console)
            if wiring == Wiring.VETH:
                console.print(WHY_NOT)
        if not all(reading.ok for reading in found):
            raise typer.Exit(TesterLimitError.exit_code)


def _duration(text: str) -> float:
    from natxy.plan.model.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
