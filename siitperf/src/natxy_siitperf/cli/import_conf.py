# SPDX-License-Identifier: Apache-2.0
"""`natxy import`: writes the plan that measures what siitperf measures with a siitperf.conf."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from natxy.api import PlanError
from natxy.api.programs import guess, plain, schema_comment
from natxy.api.verbs import drivers, echo, reported_errors
from natxy_siitperf.program import PROCEDURES


def import_conf(
    path: Annotated[
        Path, typer.Argument(metavar="SIITPERF.CONF", help="siitperf's configuration.", show_default=False)
    ],
    procedure: Annotated[
        str, typer.Option(metavar="NAME", help=f"The procedure of the plan: {', '.join(PROCEDURES)}.")
    ] = "throughput",
    arguments: Annotated[
        str | None,
        typer.Option(
            metavar="'84 …'",
            help="The arguments of siitperf-tp, siitperf-lat for latency, or siitperf-pdv for pdv.",
            show_default=False,
        ),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(
            metavar="DRIVER", help="The gateway; default: a guess.", autocompletion=drivers, show_default=False
        ),
    ] = None,
    testbed: Annotated[
        Literal["lab", "hardware"],
        typer.Option(help="A lab on this machine, or the cards and the gateway that siitperf measures with."),
    ] = "lab",
) -> None:
    """Write a plan from siitperf's configuration.

    The plan measures what siitperf measures, and is written to standard output. Its comments name the key that each
    line comes from, and what differs. It is an error if siitperf reads a line differently from how it is written, if a
    plan cannot express it, or if the gateway does not fit.
    """
    from natxy.api.plans import DRIVERS
    from natxy_siitperf.arguments import ignored, parse_arguments
    from natxy_siitperf.cards import bound_cards
    from natxy_siitperf.conf import read_conf
    from natxy_siitperf.importing.plan import check_plan, import_plan
    from natxy_siitperf.importing.source import Source

    with reported_errors():
        if gateway is not None and gateway not in DRIVERS:
            near = guess(plain(gateway), DRIVERS) or ";"
            raise PlanError(f"--gateway is {plain(gateway)!r}{near} expected one of {', '.join(DRIVERS)}")
        conf = read_conf(path)
        program = PROCEDURES.get(procedure)
        words = arguments.split() if arguments else []
        given = parse_arguments(program, words, conf) if words and program else None
        hardware = testbed == "hardware"
        usable, cards = frozenset(os.sched_getaffinity(0)), bound_cards()
        source = Source(conf, procedure, given, gateway, hardware, usable, cards)
        if given and program:
            source.differences.extend(f"{text}." for text in ignored(program, words, conf))
        plan = import_plan(source)
        check_plan(source, plan)
        # Standard output mostly goes to a file of the current folder.
        echo(f"{schema_comment(Path())}\n{plan}")
