# SPDX-License-Identifier: Apache-2.0
"""Assembles the command `natxy` from its verbs, each of which has a file, and from those of other distributions."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from natxy.cli.added import Program
from natxy.cli.calibrate import calibrate
from natxy.cli.campaign.campaign import campaign
from natxy.cli.check import check
from natxy.cli.compare import compare_runs
from natxy.cli.export import export
from natxy.cli.guide.explain import explain
from natxy.cli.guide.help import show_help
from natxy.cli.guide.init import init
from natxy.cli.guide.usage import Group, Verb
from natxy.cli.history import history
from natxy.cli.judge import judge
from natxy.cli.list import list_names
from natxy.cli.machine.cleanup import cleanup
from natxy.cli.machine.doctor import doctor
from natxy.cli.machine.lab import lab_down, lab_up
from natxy.cli.machine.locks import locks
from natxy.cli.output.watch import watch
from natxy.cli.publication.bundle import bundle
from natxy.cli.publication.verify import verify
from natxy.cli.report import report
from natxy.cli.resume import resume
from natxy.cli.run import run
from natxy.cli.selftest import selftest
from natxy.installation import full_version
from natxy.terminal.console import echo

# Shells ask for completions by environment variables. Typer's own options for it would edit the user's files.
completion_init()
app = typer.Typer(
    cls=Program,
    help="Benchmark NAT gateways, translators and routers (RFC 2544, RFC 4814, RFC 8219, RFC 9693).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)
for verb in (
    init, run, resume, watch, check, report, judge, history, export, bundle, verify, doctor, cleanup, selftest,
    calibrate, explain, locks, campaign,
):  # fmt: skip
    app.command(cls=Verb)(verb)
app.command("help", cls=Verb)(show_help)
app.command("list", cls=Verb)(list_names)
app.command("compare", cls=Verb)(compare_runs)
_lab = typer.Typer(cls=Group, help="Keep the lab of a plan for programs of your own.", no_args_is_help=True)
_lab.command("up", cls=Verb)(lab_up)
_lab.command("down", cls=Verb)(lab_down)
app.add_typer(_lab, name="lab")


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"natxy {full_version()}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def main() -> None:
    """Runs the command, whatever its output streams are."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The caller closed it, and wants no output.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # A locale without • or µ gets all other characters.
            stream.reconfigure(errors="replace")
    app()
