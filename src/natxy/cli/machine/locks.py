# SPDX-License-Identifier: Apache-2.0
"""`natxy locks`: shows which measurements hold cores, ports and machines."""

from __future__ import annotations

from typing import Annotated

import typer

from natxy.cli.console import Console, echo
from natxy.cli.errors import reported_errors
from natxy.untrusted.texts import json_text


def locks(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False) -> None:
    """Show which cores, ports and gateways are in use.

    The list names the measurement on this machine that holds each of them. Another one that needs it waits until it is
    free. A lock ends with its process, even if that is killed.
    Each user has their own locks.
    """
    from natxy.locks.files import holders
    from natxy.report.tables.table import Column, Table, to_rich

    with reported_errors():
        found = holders()
        if as_json:
            echo(json_text([each.model_dump() for each in found]) + "\n")
        elif found:
            columns = (Column("Held"), Column("Process", numeric=True), Column("Since"), Column("Command"))
            rows = tuple((each.what, str(each.pid), each.since, each.command) for each in found)
            Console().print(to_rich(Table("Locks", columns, rows)))
        else:
            echo("Nothing is held.\n")
