# SPDX-License-Identifier: Apache-2.0
"""`natxy lab up` and `natxy lab down`: keep a plan's lab standing, and remove it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from natxy.cli.completion import experiments
from natxy.errors import DutError
from natxy.system.interrupts import one_interrupt
from natxy.terminal.console import LastingConsole, echo
from natxy.terminal.errors import reported_errors, warn
from natxy.terminal.names import plans


def lab_up(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan, a YAML file.", autocompletion=plans, show_default=False)
    ],
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The experiment whose gateway is set up; default: the first.",
            autocompletion=experiments,
            show_default=False,
        ),
    ] = None,
    initiator: Annotated[
        Literal["left", "right"],
        typer.Option(help="siitperf's side that is the plan's left: with Stateful 2, the right."),
    ] = "left",
) -> None:
    """Keep the lab of a plan standing, with the gateway of one experiment.

    The output is for a shell: `lab=$(natxy lab up plan.yaml) && eval "$lab"` exports what the programs that stand in
    for siitperf's need, and comments say how to enter the network namespaces. It starts no program of a measurement and
    makes none of its files. `natxy lab down` removes the lab.

    \b
    Exit codes:
      0    the lab stands
      2    the plan has an error, its testbed is no lab, or a lab stands
           already
      4    the gateway could not be set up
    """
    from natxy.cleanup.leftovers import problems_of_leftovers
    from natxy.cli.bodies.lab import how_to_use
    from natxy.cli.bodies.measuring import show_preflight
    from natxy.plan.testbeds.lab import LabConfig
    from natxy.plan.yaml.loading import load_plan
    from natxy.run.preflight import prepared
    from natxy.standing.keeper import keep_lab
    from natxy.standing.labs import StandingError, check_none_stands

    with reported_errors(), one_interrupt():
        resolved = load_plan(plan, only=[experiment] if experiment else ())
        if not isinstance(resolved.testbed, LabConfig):
            raise StandingError(f"{plan}: testbed: expected `kind: lab` for `natxy lab`, got {resolved.testbed.kind!r}")
        # First of all: a lab that stands would also count as another natxy that disturbs this one.
        check_none_stands()
        show_preflight(prepared(resolved), LastingConsole())
        for problem in problems_of_leftovers(resolved):
            warn(problem)
        echo("".join(f"{line}\n" for line in how_to_use(keep_lab(resolved, plan), initiator)))


def lab_down() -> None:
    """Remove the lab, and end what runs in its namespaces.

    \b
    Exit codes:
      0    the lab was removed, or there was none
      4    something of it could not be removed; the message says why
    """
    from natxy.cleanup.leftovers import described, give_back
    from natxy.cli.bodies.lab import removed
    from natxy.standing.labs import end_lab, left_labs, standing_labs

    with reported_errors(), one_interrupt():
        labs = left_labs() | standing_labs()
        for keeper in labs:
            end_lab(keeper)
        # Those whose keeper was killed, or could not remove everything.
        problems = [
            f"{described(returned.entry)} could not be undone: {returned.problem}"
            for returned in give_back(lambda entry: entry.process() in labs)
            if returned.problem
        ]
        if problems:
            raise DutError("\n".join(problems))
        echo("".join(removed(labs)) or "No lab stands.\n")
