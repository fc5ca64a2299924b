# SPDX-License-Identifier: Apache-2.0
"""`natxy check`: checks a plan and prints what it would measure. Nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.completion import experiments
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import plans


def check(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan, a YAML file.", autocompletion=plans, show_default=False)
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Check only this experiment; may be repeated.",
            autocompletion=experiments,
            show_default=False,
        ),
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Print what is wrong, and otherwise only how much is to be measured.")
    ] = False,
    full_size: Annotated[
        bool,
        typer.Option("--at-scale", help="Print the memory and ports that the connections need, and the longest time."),
    ] = False,
) -> None:
    """Check a plan and print what it would measure.

    \b
    Exit codes:
      0    the plan has no error. It lists experiments that will be skipped or
           fail (a missing program or disk image, a table that is too small),
           and settings that a DUT needs
      2    the plan has errors, each on a line of its own, or names a secret
           that cannot be read
      4    no experiment can be measured, because programs are missing
           or /proc/sys is read-only
    """
    from natxy.cli.bodies.at_scale import at_scale
    from natxy.cli.bodies.check import describe, describe_briefly
    from natxy.cli.bodies.measuring import show_preflight
    from natxy.plan.scale import left_to_the_dut
    from natxy.plan.yaml.loading import load_plan
    from natxy.report.tables.table import to_rich
    from natxy.run.folder import RUNS
    from natxy.run.forecast import last_run
    from natxy.run.preflight import examined

    with reported_errors():
        resolved = load_plan(plan, only=only or ())
        console = Console()
        described = describe_briefly if brief else describe
        console.say("\n".join(described(resolved, last_run(resolved.name, RUNS))))
        if full_size:
            console.print()
            console.print(to_rich(at_scale(resolved)))
        show_preflight(examined(resolved), console)
        for reason, names in left_to_the_dut(resolved).items():
            console.say(f"Needed of the DUT: {', '.join(names)}: {reason}")
