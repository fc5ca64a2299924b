# SPDX-License-Identifier: Apache-2.0
"""`natxy doctor`: what this machine can do, what is missing, and how to mend it."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from natxy.cli.errors import reported_errors
from natxy.errors import DutError
from natxy.lab.probe import Finding, probe_machine

_MARKS = {True: Text("ok", style="green"), False: Text("missing", style="red"), None: Text("note", style="yellow")}


def doctor() -> None:
    """Say whether this machine can run a lab, and how to fix what it lacks.

    Exit codes: 0 it can; 4 something is missing.
    """
    with reported_errors():
        findings = probe_machine()
        Console().print(_table(findings))
        if any(finding.ok is False for finding in findings):
            raise typer.Exit(DutError.exit_code)


def _table(findings: list[Finding]) -> Table:
    table = Table("", "what", "found", "to mend it")
    for finding in findings:
        table.add_row(_MARKS[finding.ok], finding.name, finding.value, finding.remedy or "")
    return table
