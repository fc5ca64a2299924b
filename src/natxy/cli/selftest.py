# SPDX-License-Identifier: Apache-2.0
"""`natxy selftest`: measures the tester itself, with its ports joined."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from natxy.errors import PlanError, TesterLimitError
from natxy.plan.model.terms import Family
from natxy.selftest.defaults import FRAME_SIZES, REPEAT, TRIAL_S
from natxy.system.interrupts import dumped, one_interrupt
from natxy.terminal.console import LastingConsole, echo
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import plans
from natxy.untrusted.texts import json_text


def selftest(
    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            help="The plan whose tester is measured.",
            autocompletion=plans,
            show_default=False,
        ),
    ] = None,
    ports: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Two ports joined by a cable: interfaces or PCI addresses.", show_default=False
        ),
    ] = None,
    medium: Annotated[
        Literal["veth", "memif"], typer.Option(help="Without --ports: the link between the ports.")
    ] = "veth",
    io: Annotated[Literal["af_xdp", "af_packet"], typer.Option(help="The I/O driver of interfaces.")] = "af_xdp",
    family: Annotated[Family | None, typer.Option(help="Measure only this family.", show_default=False)] = None,
    frame_size: Annotated[
        list[int] | None,
        typer.Option(
            min=64,
            max=9216,
            metavar="BYTES",
            help="A frame size besides the smallest; may be repeated; default: 512 and 1518.",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Repetitions; the lowest result counts.")
    ] = REPEAT,
    trial: Annotated[
        float, typer.Option(min=0.01, max=60, metavar="SECONDS", help="Length of a trial's traffic.")
    ] = TRIAL_S,
    connections: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**32,
            metavar="N",
            help="Number of connections; 0: measure none; default: as many as a trial has frames, at least 100,000.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for the run; default: runs/selftest-DATE-TIME.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure the tester itself, without a gateway.

    The tester's two ports are joined to each other; without a plan or --ports, they are those of a lab. natxy keeps the
    results for this tester, and later reports compare their results with them.

    \b
    Exit codes:
      0    done
      2    an argument or the plan has an error
      4    no frame arrives at the other port
      5    the engine died
    """
    from natxy.cli.bodies.measuring import new_folder, show_preflight, watched
    from natxy.cli.bodies.selftest import show, testbed_of
    from natxy.report.page.html import write_report
    from natxy.results.reader import RunReader
    from natxy.results.selftest import save, which_tester
    from natxy.run.preflight import prepared
    from natxy.run.run import run_plan
    from natxy.selftest.outcome import self_test_of
    from natxy.selftest.plan import fastest_fps, probe_plan, selftest_plan
    from natxy.system.temporary_folder import temporary_folder

    console = LastingConsole(stderr=as_json)
    with reported_errors(), one_interrupt():
        testbed = testbed_of(plan, ports, medium, io)
        tester = which_tester(testbed)
        assert tester is not None
        probe = probe_plan(testbed)
        show_preflight(prepared(probe), console)
        console.print(f"Tester: {tester}")
        with temporary_folder("natxy-selftest-") as folder_of_log:
            fastest = fastest_fps(probe, folder_of_log / "engine.log")
        asked = selftest_plan(
            testbed,
            fastest,
            families=[family] if family else [*Family],
            frame_sizes=frame_size or FRAME_SIZES,
            repeat=repeat,
            trial_s=trial,
            connections=connections,
        )
        folder = output or new_folder("selftest")
        code = watched(console, lambda listener: run_plan(asked, folder, listener))
        measured = RunReader(folder)
        found = self_test_of(measured.run, tester)
        try:
            kept = save(found)
        except OSError as error:
            raise PlanError(f"the result cannot be kept in {error.filename}: {error.strerror}") from error
        show(found, console)
        write_report(measured)
        console.print(f"Kept in {kept}; the run is in {folder}.", soft_wrap=True)
        if as_json:
            echo(json_text(dumped(found)) + "\n")
        # A self-test looks for the rate that exceeds the tester, so reaching its limit is no error.
        if code not in (0, TesterLimitError.exit_code):
            raise typer.Exit(code)
