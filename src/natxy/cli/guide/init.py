# SPDX-License-Identifier: Apache-2.0
"""`natxy init`: writes a first plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.completion import aspects, drivers_of_first_plans, places, protocols, translations
from natxy.errors import PlanError
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors


def init(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The file to write.")] = Path("my-plan.yaml"),
    testbed: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="lab, hardware or vm; default: lab.", autocompletion=places, show_default=False
        ),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(
            metavar="DRIVER",
            help="The gateway; default: nftables.",
            autocompletion=drivers_of_first_plans,
            show_default=False,
        ),
    ] = None,
    translation: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="nat64, siit or none; default: the gateway's usual one.",
            autocompletion=translations,
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="udp or tcp, of all frames; default: udp.",
            autocompletion=protocols,
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT,…",
            help="connections, throughput, latency; default: all it has.",
            autocompletion=aspects,
            show_default=False,
        ),
    ] = None,
    left: Annotated[
        str | None,
        typer.Option(
            metavar="PORT", help="hardware: the tester's left port, an interface or PCI address.", show_default=False
        ),
    ] = None,
    right: Annotated[
        str | None, typer.Option(metavar="PORT", help="hardware: the tester's right port.", show_default=False)
    ] = None,
    dut: Annotated[
        str | None,
        typer.Option(metavar="USER@HOST", help="hardware: how to reach the gateway by ssh.", show_default=False),
    ] = None,
    dut_left: Annotated[
        str | None,
        typer.Option(metavar="IF", help="hardware: the gateway's interface on the left port.", show_default=False),
    ] = None,
    dut_right: Annotated[
        str | None,
        typer.Option(metavar="IF", help="hardware: the gateway's interface on the right port.", show_default=False),
    ] = None,
    line_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="hardware: the links' bit rate; default: 10 Gbps.", show_default=False),
    ] = None,
) -> None:
    """Write a first plan, with comments.

    On a terminal, natxy asks for everything that no option gives; otherwise it takes the defaults. An existing file is
    not replaced.
    """
    from natxy.cli.bodies.init import cabling_of, check_new, write
    from natxy.cli.guide.first_plan import (
        ASPECTS,
        PLACES,
        PROTOCOLS,
        TRANSLATIONS,
        Answers,
        Aspect,
        Place,
        aspects_of,
        first_plan,
        gateways_at,
        protocols_of,
        translations_of,
    )
    from natxy.cli.guide.questions import answer, one_of, some_of
    from natxy.dut.registry import GATEWAYS
    from natxy.plan.frames.forms import Protocol

    with reported_errors():
        check_new(plan)
        where = answer("--testbed", testbed, "Where the gateway runs", one_of(PLACES), Place.LAB, PLACES)
        place = Place(where)
        drivers = {name: GATEWAYS[name].summary for name in gateways_at(place)}
        driver = answer("--gateway", gateway, "Gateway", one_of(drivers), "nftables", drivers)
        kinds = {kind: TRANSLATIONS[kind] for kind in translations_of(driver)}
        usual = next(iter(kinds))
        # One that has no choice asks nobody.
        asked = translation if len(kinds) > 1 or translation else usual
        kind = answer("--translation", asked, "Translation", one_of(kinds), usual, kinds)
        of_frames = {each: PROTOCOLS[each] for each in protocols_of(driver)}
        asked = protocol if len(of_frames) > 1 or protocol else Protocol.UDP
        carried = Protocol(answer("--protocol", asked, "Protocol", one_of(of_frames), Protocol.UDP, of_frames))
        aspects = {each.value: ASPECTS[each] for each in aspects_of(driver)}
        matters = answer("--measure", measure, "What matters", some_of(aspects), ",".join(aspects), aspects)
        ports = {"left": left, "right": right, "dut": dut, "dut-left": dut_left, "dut-right": dut_right}
        if place == Place.HARDWARE:
            cabling = cabling_of(ports, line_rate)
        else:
            cabling = None
            for name, value in (ports | {"line-rate": line_rate}).items():
                if value is not None:
                    raise PlanError(f"--{name} is for --testbed hardware, not {place}; remove it")
        wanted = [Aspect(each) for each in matters]
        write(plan, first_plan(Answers(str(plan), plan.stem, place, driver, wanted, cabling, kind, carried)))
        Console().say(f"{plan} is written. Next: `natxy check {plan}`, then `natxy run {plan}` as root.")
