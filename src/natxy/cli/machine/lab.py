# SPDX-License-Identifier: Apache-2.0
"""`natxy lab up` and `natxy lab down`: keep a plan's lab standing, and remove it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.cleanup.leftovers import described, give_back, problems_of_leftovers
from natxy.cli.completion import experiments, plans
from natxy.cli.console import LastingConsole, echo
from natxy.cli.errors import reported_errors, warn
from natxy.cli.measuring import prepare
from natxy.errors import DutError
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.yaml.loading import load_plan
from natxy.siitperf.trial.neighbors import DUT_MACS
from natxy.siitperf.trial.ports import CORES, IO, LEFT, RIGHT
from natxy.siitperf.trial.trial import FLOOR_MS
from natxy.standing.keeper import keep_lab
from natxy.standing.labs import StandingError, StandingLab, check_none_stands, end_lab, left_labs, standing_labs
from natxy.system.interrupts import one_interrupt
from natxy.system.process_owner import Owner

# A lab's sender shares its machine with the gateway.
_PATIENCE_MS: Final = 1


def lab_up(
    plan: Annotated[Path, typer.Argument(help="The plan, a YAML file.", autocompletion=plans, show_default=False)],
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The experiment whose gateway is set up; default: the first.",
            autocompletion=experiments,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Keep the lab of a plan standing, with the gateway of one experiment.

    What it prints is for a shell: `lab=$(natxy lab up plan.yaml) && eval "$lab"` exports what the programs that stand
    in for siitperf's need, and comments say how to enter the network namespaces. Programs and files of a measurement
    are not started or made. `natxy lab down` removes the lab.

    \b
    Exit codes:
      0    the lab stands
      2    the plan has an error, its testbed is no lab, or a lab stands
           already
      4    the gateway could not be set up
    """
    with reported_errors(), one_interrupt():
        resolved = load_plan(plan, only=[experiment] if experiment else ())
        if not isinstance(resolved.testbed, LabConfig):
            raise StandingError(f"{plan}: testbed: expected `kind: lab` for `natxy lab`, got {resolved.testbed.kind!r}")
        # First of all: a lab that stands would also count as another natxy that disturbs this one.
        check_none_stands()
        prepare(resolved, LastingConsole())
        for problem in problems_of_leftovers(resolved):
            warn(problem)
        echo("".join(f"{line}\n" for line in _how_to_use(keep_lab(resolved, plan))))


def lab_down() -> None:
    """Remove the lab that stands, with everything that runs in its network namespaces.

    \b
    Exit codes:
      0    the lab was removed, or there was none
      4    something of it could not be removed; the message says why
    """
    with reported_errors(), one_interrupt():
        labs = left_labs() | standing_labs()
        for keeper in labs:
            end_lab(keeper)
        # Those whose keeper was killed, or could not remove everything.
        problems = [
            f"{described(returned.entry)} could not be given back: {returned.problem}"
            for returned in give_back(lambda entry: entry.process() in labs)
            if returned.problem
        ]
        if problems:
            raise DutError("\n".join(problems))
        echo("".join(removed(labs)) or "No lab stands.\n")


def removed(labs: Mapping[Owner, str]) -> Iterator[str]:
    """Yields a line for each lab that was removed."""
    yield from (f"Removed: the lab of {name} (process {keeper.pid}).\n" for keeper, name in labs.items())


def _how_to_use(lab: StandingLab) -> Iterator[str]:
    gateway = "a guest between dut-left and dut-right" if lab.in_guest else "dut-left, dut-right"
    yield f"# {lab.gateway} of {lab.name} stands. To remove it: natxy lab down"
    yield f"# The tester's ends, left and right:  ip netns exec {lab.tester} bash"
    yield f"# The gateway, {gateway}:  ip netns exec {lab.dut} bash"
    yield "# For siitperf.conf:"
    ends = zip("LR", lab.tester_addresses, lab.tester_macs, lab.dut_macs, strict=True)
    for letter, address, tester, dut in ends:
        yield f"#   IP-{letter}-Vers {address.version}"
        yield f"#   IPv{address.version}-{letter}-Real {address}"
        yield f"#   MAC-{letter}-Tester {tester}"
        yield f"#   MAC-{letter}-DUT {dut}"
    yield "# Start siitperf's scripts in the tester's namespace, with these variables:"
    exports = {
        LEFT: "left",
        RIGHT: "right",
        IO: lab.io,
        CORES: ",".join(map(str, lab.tester_cores)),
        DUT_MACS: ",".join(lab.dut_macs),
        FLOOR_MS: str(_PATIENCE_MS),
        "NATXY_LAB_TESTER": lab.tester,
        "NATXY_LAB_DUT": lab.dut,
    }
    yield from (f"export {name}={shlex.quote(value)}" for name, value in exports.items())
