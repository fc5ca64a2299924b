# SPDX-License-Identifier: Apache-2.0
"""`natxy doctor`: examines the machines that measure, and prints findings with remedies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from natxy.errors import DutError
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors, warn
from natxy.terminal.names import plans


def doctor(
    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            help="A plan whose testbed is examined, too, even over ssh.",
            autocompletion=plans,
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Install what is missing, reserve huge pages, fix the cores' frequency, and print how to undo this. "
            "Machines behind ssh are not changed.",
        ),
    ] = False,
) -> None:
    """Examine this machine before measuring.

    Print what is missing, what would bias a result, and the remedies.

    \b
    Exit codes:
      0    the machine can measure
      2    the plan has an error
      4    something is missing
    """
    from natxy.cli.bodies.doctor import summary, table
    from natxy.doctor.fixing import mend
    from natxy.doctor.machine import THIS_MACHINE, probe_machines
    from natxy.plan.scale import foreseen_refusals
    from natxy.plan.yaml.loading import load_plan

    with reported_errors():
        resolved = load_plan(plan) if plan else None
        found = probe_machines(resolved)
        console = Console()
        if fix:
            for line in mend(found.get(THIS_MACHINE, ())):
                console.print(Text(line))
            console.print()
            found = probe_machines(resolved)
        for machine, findings in found.items():
            console.print(Text(machine, "bold"))
            console.print(table(findings))
            console.print()
        console.print(summary(found, resolved))
        for reason, names in foreseen_refusals(resolved).items() if resolved else ():
            warn(f"{', '.join(names)}: {reason}")
        if any(finding.ok is False for findings in found.values() for finding in findings):
            raise typer.Exit(DutError.exit_code)
