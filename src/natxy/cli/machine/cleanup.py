# SPDX-License-Identifier: Apache-2.0
"""`natxy cleanup`: gives back what killed runs left changed, and what `natxy lab up` made."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from natxy.errors import DutError
from natxy.system.interrupts import one_interrupt
from natxy.terminal.console import echo
from natxy.terminal.errors import reported_errors, warn


def cleanup(
    forget: Annotated[
        bool, typer.Option("--forget", help="Give up on what cannot be undone now, and forget it.")
    ] = False,
) -> None:
    """Undo what killed runs left, and remove a standing lab.

    On this machine and on machines behind ssh, this restores network namespaces, interfaces, sysctls, priorities,
    temporary folders, programs, and gateways on a DUT. It leaves alone what a live run uses. `natxy doctor` lists what
    there is to undo, and the next run on the machine also undoes it.

    \b
    Exit codes:
      0    everything was undone, or there was nothing
      4    something could not be undone; the message says why
    """
    from natxy.cleanup.leftovers import described, give_back
    from natxy.cli.bodies.lab import removed
    from natxy.standing.labs import end_lab, standing_labs
    from natxy.system.ledger import Ledger

    with reported_errors(), one_interrupt():
        labs = standing_labs()
        for keeper in labs:
            end_lab(keeper)
        echo("".join(removed(labs)))
        count, problems = len(labs), 0
        for returned in give_back():
            count += 1
            what = f"{described(returned.entry)} (process {returned.entry.process().pid})"
            if returned.problem is None:
                echo(f"Undone: {what}.\n")
                continue
            problems += 1
            warn(f"{what} could not be undone: {returned.problem}")
            if forget:
                Ledger().remove(returned.entry)
        if not count:
            mine = "" if os.geteuid() == 0 else " of this user's; root has a list of its own"
            echo(f"There is nothing to undo{mine}.\n")
        if problems:
            raise typer.Exit(DutError.exit_code)
