# SPDX-License-Identifier: Apache-2.0
"""`natxy doctor`: what this machine can do, what is missing, and how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from natxy.cli.console import Console
from natxy.cli.errors import reported_errors
from natxy.errors import DutError
from natxy.lab.finding import Finding
from natxy.lab.probe import probe_machine
from natxy.plan.loading import load_plan

_MARKS = {True: Text("ok", style="green"), False: Text("missing", style="red"), None: Text("note", style="yellow")}


def doctor(
    plan: Annotated[
        Path | None, typer.Argument(help="A plan: look at its testbed's cores and ports too.", show_default=False)
    ] = None,
) -> None:
    """Say whether this machine can measure, what of it would bias a result, and what to do about either.

    Exit codes: 0 it can; 2 bad plan; 4 something is missing.
    """
    with reported_errors():
        findings = probe_machine(load_plan(plan).testbed if plan else None)
        Console().print(_table(findings))
        if any(finding.ok is False for finding in findings):
            raise typer.Exit(DutError.exit_code)


def _table(findings: list[Finding]) -> Table:
    table = Table("")
    for title in ("what", "found", "to mend it"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        table.add_row(_MARKS[finding.ok], finding.name, finding.value, finding.remedy or "")
    return table
